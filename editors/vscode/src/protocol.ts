/** What this extension and the server say to each other beyond the Language Server Protocol. */

import type { Location, TextDocumentPositionParams } from "vscode-languageclient";
import { NotificationType, RequestType } from "vscode-languageclient";

/** How far the index is that answers come from. */
export interface Status {
  state: "indexing" | "ready" | "waiting" | "error" | "nothing";
  root: string;
  harness: string;
  revision: number;
  /** Files read, and files to be read, while an index is made. */
  done: number;
  total: number;
  /** Files that changed and are not read again yet. */
  waiting: number;
  /** A sentence: what is wrong, or incomplete. */
  note: string;
}

/** One step of an operator's chain, or a heading of several. */
export interface Step {
  label: string;
  detail: string;
  /** A name of VS Code's icon set. */
  icon: string;
  location: Location | null;
  steps: Step[];
}

/** The chain of the symbol at a position. */
export interface Chain {
  subject: string;
  steps: Step[];
}

export interface TraceParams {
  name: string;
  focus: "full" | "yaml" | "dispatch";
  /** The document that the question is asked from: it says which root is meant. */
  uri: string | null;
}

export interface TraceResult {
  text: string;
  /** The folder that the paths in the text are relative to. */
  root: string;
}

export const statusChanged = new NotificationType<Status>("torchtalk/status");
export const askStatus = new RequestType<null, Status, void>("torchtalk/status");
export const askOperator = new RequestType<TextDocumentPositionParams, Chain | null, void>("torchtalk/operator");
export const askTrace = new RequestType<TraceParams, TraceResult, void>("torchtalk/trace");
