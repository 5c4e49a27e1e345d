/** torchtalkd in VS Code: starts `torchtalkd lsp`, and shows what the protocol has no place for. */

import { commands, env, window, workspace, type ExtensionContext } from "vscode";
import {
  LanguageClient,
  RevealOutputChannelOn,
  State,
  type LanguageClientOptions,
  type ServerOptions,
} from "vscode-languageclient/node";
import { askName } from "./askName";
import { OperatorView } from "./operatorView";
import { findProgram, type Program } from "./program";
import { askStatus, askTrace, statusChanged, type Focus } from "./protocol";
import { sentence, StatusItem } from "./statusItem";
import { TraceTexts } from "./traceText";

const INSTALL = "pip install torchtalkd";
const LANGUAGES = ["python", "cpp", "c", "cuda-cpp", "objective-cpp"];

let client: LanguageClient | undefined;
/** One start or stop after the other. */
let turn: Promise<void> = Promise.resolve();

export async function activate(context: ExtensionContext): Promise<void> {
  const output = window.createOutputChannel("torchtalkd", { log: true });
  const status = new StatusItem();
  const view = new OperatorView();
  const texts = new TraceTexts();
  let why = "The server does not run.";

  const stop = async (): Promise<void> => {
    const former = client;
    client = undefined;
    view.uses(undefined);
    await commands.executeCommand("setContext", "torchtalk.ready", false);
    await former?.dispose().catch((error: unknown) => output.warn(`The server ended badly: ${String(error)}`));
  };

  const start = async (): Promise<void> => {
    await stop();
    status.starting();
    const settings = workspace.getConfiguration("torchtalk");
    const program = await findProgram(settings);
    if (!program) {
      why = `The program torchtalkd was not found: install it with "${INSTALL}", or name it in the setting torchtalk.command.`;
      status.stopped(why);
      output.warn(why);
      // Not waited for: the message may stay for as long as the window.
      void sayHowToInstall(why);
      return;
    }
    output.info(`Starts ${[program.command, ...program.args].join(" ")} (from ${program.from})`);
    const made = new LanguageClient("torchtalk", "torchtalkd", serverOptions(program), clientOptions(output));
    made.onNotification(statusChanged, (told) => status.shows(told));
    made.onDidChangeState((change) => {
      if (change.newState === State.Stopped && client === made) {
        status.stopped("The server has ended; its log says why.");
        void commands.executeCommand("setContext", "torchtalk.ready", false);
      } else if (change.newState === State.Running) {
        void commands.executeCommand("setContext", "torchtalk.ready", true);
      }
    });
    client = made;
    try {
      await made.start();
      status.shows(await made.sendRequest(askStatus, null));
      view.uses(made);
    } catch (error) {
      why = `torchtalkd did not start: ${error instanceof Error ? error.message : String(error)}`;
      status.stopped(why);
      output.error(why);
    }
  };

  const inTurn = (step: () => Promise<void>): Promise<void> => {
    turn = turn.then(step, step);
    return turn;
  };

  const trace = async (focus: Focus): Promise<void> => {
    const asked = client;
    if (!asked?.isRunning()) {
      void window.showWarningMessage(why);
      return;
    }
    const name = await askName(asked, nameAtCursor() ?? view.subject ?? "");
    if (name) {
      const found = await asked.sendRequest(askTrace, { name, focus });
      if (found) {
        await texts.show(focus === "dispatch" ? `${name}.dispatch` : name, found);
      } else {
        void window.showWarningMessage(`torchtalkd knows nothing called ${name}.`);
      }
    }
  };

  context.subscriptions.push(
    output,
    status,
    view,
    texts,
    commands.registerCommand("torchtalk.trace", () => trace("full")),
    commands.registerCommand("torchtalk.dispatch", () => trace("dispatch")),
    commands.registerCommand("torchtalk.restart", () => inTurn(start)),
    commands.registerCommand("torchtalk.log", () => output.show()),
    commands.registerCommand("torchtalk.status", () => showStatus(why)),
    workspace.onDidGrantWorkspaceTrust(() => inTurn(start)),
    workspace.onDidChangeConfiguration((change) => {
      if (["command", "source", "harness"].some((name) => change.affectsConfiguration(`torchtalk.${name}`))) {
        void inTurn(start);
      }
    }),
  );
  await inTurn(start);
}

export async function deactivate(): Promise<void> {
  await turn;
  await client?.dispose();
}

function serverOptions(program: Program): ServerOptions {
  const settings = workspace.getConfiguration("torchtalk");
  const args = [...program.args, "lsp"];
  for (const name of ["source", "harness"]) {
    const value = settings.get<string>(name, "");
    if (value) {
      args.push(`--${name}`, value);
    }
  }
  return { command: program.command, args };
}

function clientOptions(output: LanguageClientOptions["outputChannel"]): LanguageClientOptions {
  const yaml = ["native_functions", "derivatives", "tags"].map((name) => ({ scheme: "file", pattern: `**/${name}.yaml` }));
  const code = LANGUAGES.flatMap((language) => [
    { scheme: "file", language },
    { scheme: "untitled", language },
  ]);
  return {
    documentSelector: [...code, ...yaml],
    outputChannel: output,
    revealOutputChannelOn: RevealOutputChannelOn.Never,
    initializationOptions: { torchtalk: workspace.getConfiguration("torchtalk") },
    synchronize: { configurationSection: "torchtalk" },
    // Text of a source tree is shown, never trusted: no commands, no HTML.
    markdown: { isTrusted: false, supportHtml: false },
  };
}

function nameAtCursor(): string | undefined {
  const editor = window.activeTextEditor;
  if (!editor || editor.document.uri.scheme === "torchtalk") {
    return undefined;
  }
  if (!editor.selection.isEmpty) {
    return editor.document.getText(editor.selection).split("\n", 1)[0];
  }
  const range = editor.document.getWordRangeAtPosition(editor.selection.active, /[A-Za-z_][\w.]*(?:::[\w.]+)*/);
  return range && editor.document.getText(range);
}

async function sayHowToInstall(why: string): Promise<void> {
  const chosen = await window.showWarningMessage(why, "Copy the command", "Open the settings");
  if (chosen === "Copy the command") {
    await env.clipboard.writeText(INSTALL);
  } else if (chosen === "Open the settings") {
    await commands.executeCommand("workbench.action.openSettings", "torchtalk.command");
  }
}

async function showStatus(why: string): Promise<void> {
  if (!client?.isRunning()) {
    const chosen = await window.showWarningMessage(why, "Restart", "Show Log");
    if (chosen) {
      await commands.executeCommand(chosen === "Restart" ? "torchtalk.restart" : "torchtalk.log");
    }
    return;
  }
  const told = await client.sendRequest(askStatus, null);
  const said = told.roots.map(sentence).join(" ") || "No source tree is known.";
  if ((await window.showInformationMessage(said, "Show Log")) === "Show Log") {
    await commands.executeCommand("torchtalk.log");
  }
}
