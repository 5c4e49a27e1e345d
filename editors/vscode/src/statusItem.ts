/** The item in the status bar: indexing, ready, how many files wait. */

import * as path from "node:path";
import { MarkdownString, StatusBarAlignment, ThemeColor, window, type Disposable, type StatusBarItem } from "vscode";
import type { Status } from "./protocol";

export class StatusItem implements Disposable {
  private readonly item: StatusBarItem = window.createStatusBarItem("torchtalk.status", StatusBarAlignment.Left, 0);

  constructor() {
    this.item.name = "torchtalkd";
    this.item.command = "torchtalk.status";
    this.starting();
    this.item.show();
  }

  starting(): void {
    this.set("$(sync~spin) torchtalkd", "The server starts.");
  }

  /** The server does not run, and a sentence says why. */
  stopped(why: string): void {
    this.set("$(error) torchtalkd", why, "statusBarItem.errorBackground");
  }

  shows(status: Status): void {
    const where = status.root ? `${path.basename(status.root)} (${status.harness}), revision ${status.revision}` : "";
    const lines = [where, status.note].filter((line) => line);
    switch (status.state) {
      case "indexing": {
        const share = status.total ? ` ${Math.floor((100 * status.done) / status.total)} %` : "";
        this.set(`$(sync~spin) torchtalkd${share}`, ["The tree is being read.", ...lines].join("\n\n"));
        break;
      }
      case "waiting": {
        const files = status.waiting === 1 ? "1 file waits" : `${status.waiting} files wait`;
        this.set(`$(sync~spin) torchtalkd: ${files}`, [`${files} to be read again.`, ...lines].join("\n\n"));
        break;
      }
      case "error":
        this.set("$(warning) torchtalkd", lines.join("\n\n"), "statusBarItem.warningBackground");
        break;
      case "nothing":
        this.set("$(circle-slash) torchtalkd", ["No source tree is known.", ...lines].join("\n\n"));
        break;
      case "ready":
        this.set("$(check) torchtalkd", ["The index is current.", ...lines].join("\n\n"));
        break;
    }
  }

  dispose(): void {
    this.item.dispose();
  }

  private set(text: string, tooltip: string, background?: string): void {
    this.item.text = text;
    // Appended as text: a tree's name must not be read as markdown.
    this.item.tooltip = new MarkdownString().appendText(tooltip);
    this.item.backgroundColor = background ? new ThemeColor(background) : undefined;
  }
}
