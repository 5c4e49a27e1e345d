/** The answers of "Trace Operator" and "Show Dispatch Table": read-only texts whose places are links. */

import * as path from "node:path";
import {
  DocumentLink,
  languages,
  Range,
  Uri,
  ViewColumn,
  window,
  workspace,
  type Disposable,
  type DocumentLinkProvider,
  type TextDocument,
  type TextDocumentContentProvider,
} from "vscode";
import type { Trace } from "./protocol";

const SCHEME = "torchtalk";
/** A path and a line, as the command line prints them. */
const PLACE = /(?<![\w./-])([\w.+-]+(?:\/[\w.+-]+)+):(\d+)\b/g;
/** Texts that are kept; an editor that shows an older one keeps its own copy. */
const MOST = 50;

export class TraceTexts implements TextDocumentContentProvider, DocumentLinkProvider, Disposable {
  private readonly texts = new Map<string, Trace>();
  private readonly disposables: Disposable[];
  private count = 0;

  constructor() {
    this.disposables = [
      workspace.registerTextDocumentContentProvider(SCHEME, this),
      languages.registerDocumentLinkProvider({ scheme: SCHEME }, this),
    ];
  }

  /** Opens an answer beside the editor. */
  async show(title: string, result: Trace): Promise<void> {
    const name = title.replace(/[^\w.:]/g, "_");
    const uri = Uri.from({ scheme: SCHEME, path: `/${++this.count}/${name}.txt` });
    this.texts.set(uri.path, result);
    for (const old of [...this.texts.keys()].slice(0, Math.max(0, this.texts.size - MOST))) {
      this.texts.delete(old);
    }
    const document = await workspace.openTextDocument(uri);
    await window.showTextDocument(document, { viewColumn: ViewColumn.Beside, preview: true });
  }

  provideTextDocumentContent(uri: Uri): string {
    return this.texts.get(uri.path)?.text ?? "This answer is of an earlier session: ask again.";
  }

  provideDocumentLinks(document: TextDocument): DocumentLink[] {
    const root = this.texts.get(document.uri.path)?.root;
    if (!root) {
      return [];
    }
    return [...document.getText().matchAll(PLACE)].map((match) => {
      const file = Uri.file(path.join(root, match[1] ?? ""));
      const range = new Range(document.positionAt(match.index), document.positionAt(match.index + match[0].length));
      return new DocumentLink(range, file.with({ fragment: `L${match[2]}` }));
    });
  }

  dispose(): void {
    this.disposables.forEach((disposable) => disposable.dispose());
  }
}
