/** The tree view "Operator": the chain of the symbol at the cursor, from Python to the kernels. */

import {
  CancellationTokenSource,
  EventEmitter,
  Range,
  ThemeIcon,
  TreeItem,
  TreeItemCollapsibleState,
  Uri,
  window,
  type Disposable,
  type TextEditor,
  type TreeDataProvider,
  type TreeView,
} from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import { chain, type Step } from "./chain";
import { askTrace, type Trace } from "./protocol";

/** A cursor that moves on within this time, in milliseconds, is not asked about. */
const REST = 150;

export class OperatorView implements TreeDataProvider<Step>, Disposable {
  private readonly changed = new EventEmitter<void>();
  readonly onDidChangeTreeData = this.changed.event;
  private readonly view: TreeView<Step> = window.createTreeView("torchtalk.operator", { treeDataProvider: this });
  private readonly disposables: Disposable[];
  private shown: Trace | null = null;
  private steps: (Step & { open?: boolean })[] = [];
  private client: LanguageClient | undefined;
  private asking = new CancellationTokenSource();
  private timer: NodeJS.Timeout | undefined;

  constructor() {
    this.disposables = [
      this.view,
      this.changed,
      this.view.onDidChangeVisibility(() => this.follow(window.activeTextEditor)),
      window.onDidChangeTextEditorSelection((event) => this.follow(event.textEditor)),
      window.onDidChangeActiveTextEditor((editor) => this.follow(editor)),
    ];
  }

  /** Asks this server from now on, or none. */
  uses(client: LanguageClient | undefined): void {
    this.client = client;
    if (client) {
      this.follow(window.activeTextEditor);
    } else {
      this.show(null);
    }
  }

  /** The subject that is shown: what the palette's commands begin with. */
  get subject(): string | undefined {
    return this.shown?.subjects[0];
  }

  getTreeItem(step: Step & { open?: boolean }): TreeItem {
    const leaf = step.steps.length === 0;
    const state = step.open ? TreeItemCollapsibleState.Expanded : TreeItemCollapsibleState.Collapsed;
    const item = new TreeItem(step.label, leaf ? TreeItemCollapsibleState.None : state);
    item.description = step.detail;
    item.tooltip = step.detail ? `${step.label}\n${step.detail}` : step.label;
    item.iconPath = new ThemeIcon(step.icon);
    if (step.item) {
      const line = Math.max(0, step.item.line - 1);
      item.command = {
        command: "vscode.open",
        title: "Open",
        arguments: [Uri.parse(step.item.uri), { selection: new Range(line, 0, line, 0), preserveFocus: true }],
      };
    }
    return item;
  }

  getChildren(step?: Step): Step[] {
    return step ? step.steps : this.steps;
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.asking.dispose();
    this.disposables.forEach((disposable) => disposable.dispose());
  }

  private follow(editor: TextEditor | undefined): void {
    clearTimeout(this.timer);
    this.asking.cancel();
    if (editor && this.view.visible && this.client) {
      this.timer = setTimeout(() => void this.ask(editor), REST);
    }
  }

  private async ask(editor: TextEditor): Promise<void> {
    const client = this.client;
    if (!client?.isRunning()) {
      return;
    }
    this.asking.dispose();
    const asking = (this.asking = new CancellationTokenSource());
    const place = client.code2ProtocolConverter.asTextDocumentPositionParams(editor.document, editor.selection.active);
    try {
      const found = await client.sendRequest(askTrace, { ...place, focus: "full" }, asking.token);
      // Where the cursor stands on nothing of ours, the last chain stays: it is being read.
      if (!asking.token.isCancellationRequested && found) {
        this.show(found);
      }
    } catch (error) {
      if (!asking.token.isCancellationRequested) {
        client.outputChannel.appendLine(`The chain at the cursor could not be had: ${String(error)}`);
      }
    }
  }

  private show(found: Trace | null): void {
    this.shown = found;
    this.steps = found ? chain(found.items) : [];
    this.view.description = found?.subjects[0] ?? "";
    this.changed.fire();
  }
}
