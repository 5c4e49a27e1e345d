/** What this extension and the server say to each other beyond the Language Server Protocol (docs/editors.md). */

import { NotificationType, RequestType, type TextDocumentIdentifier, type Position } from "vscode-languageclient";

/** How far the index of one source tree is. */
export interface RootStatus {
  root: string;
  harness: string;
  revision: number;
  /** Whether requests are answered, and whether completely. */
  responsive: boolean;
  complete: boolean;
  indexing: boolean;
  /** Of the files, while an index is made. */
  percent: number;
  /** Files that changed and are not read again yet. */
  waiting: number;
  error: string;
  note: string;
}

export interface Status {
  roots: RootStatus[];
}

/** A place of an answer, as `torchtalkd trace --json` prints it. */
export interface Item {
  role: string;
  symbol: string;
  operator: string;
  dispatch_key: string;
  evidence: string;
  file: string;
  line: number;
  note?: string;
  via?: string;
  uri: string;
}

export interface Trace {
  query: string;
  subjects: string[];
  items: Item[];
  revision: number;
  /** The whole answer as the command line prints it, and the folder that its paths are relative to. */
  text: string;
  root: string;
}

export type Focus = "full" | "yaml" | "dispatch";

export interface TraceParams {
  name?: string;
  textDocument?: TextDocumentIdentifier;
  position?: Position;
  focus: Focus;
}

export const statusChanged = new NotificationType<Status>("torchtalk/status");
export const askStatus = new RequestType<null, Status, void>("torchtalk/status");
export const askTrace = new RequestType<TraceParams, Trace | null, void>("torchtalk/trace");
