/** Which operator? A box that offers the index's names while one types. */

import { CancellationTokenSource, window, type QuickPickItem } from "vscode";
import { WorkspaceSymbolRequest, type LanguageClient } from "vscode-languageclient/node";

/** The name that the user chose or typed; undefined if the box was closed. */
export function askName(client: LanguageClient, first: string): Promise<string | undefined> {
  const box = window.createQuickPick();
  box.title = "Trace Operator";
  box.placeholder = "matmul, torch.nn.functional.gelu, aten::mm.out, a kernel, a function …";
  box.value = first;
  let asking = new CancellationTokenSource();

  const offer = async (typed: string): Promise<void> => {
    asking.cancel();
    asking.dispose();
    const mine = (asking = new CancellationTokenSource());
    const own: QuickPickItem[] = typed ? [{ label: typed, alwaysShow: true }] : [];
    box.busy = true;
    try {
      const found = typed ? await client.sendRequest(WorkspaceSymbolRequest.type, { query: typed }, mine.token) : [];
      if (mine.token.isCancellationRequested) {
        return;
      }
      const names = new Map((found ?? []).map((symbol) => [symbol.name, symbol.containerName ?? ""]));
      names.delete(typed);
      const offered = [...names].map(([label, description]) => ({ label, description, alwaysShow: true }));
      box.items = [...own, ...offered];
    } catch {
      // The box works without what it could offer.
      box.items = own;
    } finally {
      if (!mine.token.isCancellationRequested) {
        box.busy = false;
      }
    }
  };

  return new Promise((resolve) => {
    box.onDidChangeValue((typed) => void offer(typed.trim()));
    box.onDidAccept(() => {
      resolve(box.selectedItems[0]?.label ?? (box.value.trim() || undefined));
      box.hide();
    });
    box.onDidHide(() => {
      asking.cancel();
      asking.dispose();
      resolve(undefined);
      box.dispose();
    });
    box.show();
    void offer(first);
  });
}
