/** The item in the status bar: indexing, ready, how many files wait. */

import { MarkdownString, StatusBarAlignment, ThemeColor, window, type Disposable, type StatusBarItem } from "vscode";
import type { RootStatus, Status } from "./protocol";

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
    const roots = status.roots;
    const tooltip = roots.map(sentence).join("\n\n");
    const indexing = roots.find((root) => root.indexing);
    const waiting = roots.reduce((sum, root) => sum + root.waiting, 0);
    if (roots.length === 0) {
      this.set("$(circle-slash) torchtalkd", "No source tree is known: open one, or name it in torchtalk.source.");
    } else if (indexing) {
      this.set(`$(sync~spin) torchtalkd ${Math.floor(indexing.percent)} %`, tooltip);
    } else if (roots.some((root) => root.error)) {
      this.set("$(warning) torchtalkd", tooltip, "statusBarItem.warningBackground");
    } else if (waiting > 0) {
      this.set(`$(sync~spin) torchtalkd: ${filesWait(waiting)}`, tooltip);
    } else {
      this.set("$(check) torchtalkd", tooltip);
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

/** What is to be said of one tree. */
export function sentence(root: RootStatus): string {
  const state = root.indexing
    ? `${Math.floor(root.percent)} % of it is read`
    : root.waiting > 0
      ? `${filesWait(root.waiting)} to be read again`
      : "current";
  const said = `${root.root} (${root.harness}), revision ${root.revision}: ${state}`;
  return [said, root.error, root.note].filter((text) => text).join(". ");
}

function filesWait(count: number): string {
  return count === 1 ? "1 file waits" : `${count} files wait`;
}
