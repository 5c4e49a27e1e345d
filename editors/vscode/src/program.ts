/** Which program is the server? The setting, else that of the selected interpreter, else the one in PATH. */

import * as fs from "node:fs";
import * as path from "node:path";
import { extensions, Uri, workspace, type WorkspaceConfiguration } from "vscode";

export interface Program {
  command: string;
  args: string[];
  /** For the user: where it was found. */
  from: string;
}

const NAME = "torchtalkd";
const FOLDER_NAMES = [".venv", "venv"];

/**
 * The server's program, or undefined if there is none. It runs nothing.
 *
 * In a folder that is not trusted neither the folder's interpreter nor anything else below the
 * folder is taken: only what the user's own settings or PATH name.
 */
export async function findProgram(settings: WorkspaceConfiguration): Promise<Program | undefined> {
  const named = settings.get<string[]>("command", []);
  if (named[0]) {
    return { command: named[0], args: named.slice(1), from: "the setting torchtalk.command" };
  }
  if (workspace.isTrusted) {
    for (const interpreter of [await selectedInterpreter(), ...folderInterpreters()]) {
      const beside = interpreter && path.join(path.dirname(interpreter), NAME);
      if (beside && isExecutable(beside)) {
        return { command: beside, args: [], from: `the interpreter ${interpreter}` };
      }
    }
  }
  const inPath = searchPath();
  return inPath ? { command: inPath, args: [], from: "PATH" } : undefined;
}

interface PythonApi {
  environments?: {
    getActiveEnvironmentPath(resource?: Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: Uri } } | undefined>;
  };
}

/** The interpreter that the Python extension has selected for the first folder. */
async function selectedInterpreter(): Promise<string | undefined> {
  const python = extensions.getExtension<PythonApi>("ms-python.python");
  if (!python) {
    return undefined;
  }
  try {
    const api = python.isActive ? python.exports : await python.activate();
    const active = api.environments?.getActiveEnvironmentPath(workspace.workspaceFolders?.[0]?.uri);
    const environment = active && (await api.environments?.resolveEnvironment(active));
    return environment?.executable.uri?.fsPath;
  } catch {
    // The other extension's trouble: it says it itself, and PATH is still there.
    return undefined;
  }
}

/** The usual virtual environments of the open folders, for those who have no Python extension. */
function folderInterpreters(): string[] {
  const folders = workspace.workspaceFolders ?? [];
  return folders.flatMap((folder) => FOLDER_NAMES.map((name) => path.join(folder.uri.fsPath, name, "bin", "python")));
}

function searchPath(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  // A relative entry would mean something else in each folder.
  const usable = folders.filter((folder) => path.isAbsolute(folder) && (workspace.isTrusted || !inWorkspace(folder)));
  return usable.map((folder) => path.join(folder, NAME)).find(isExecutable);
}

function inWorkspace(folder: string): boolean {
  return workspace.getWorkspaceFolder(Uri.file(folder)) !== undefined;
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}
