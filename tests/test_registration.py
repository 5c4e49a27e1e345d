"""What clients of agents are told: snippets that parse, members put into other people's JSON, Cursor."""

from __future__ import annotations

import ast
import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import DEMO_TREE, REPOSITORY
from torchtalkd import cli
from torchtalkd.frontends.command import agent_arguments
from torchtalkd.frontends.mcp.arguments import checked
from torchtalkd.frontends.mcp.tools import TOOLS
from torchtalkd.registration import json_text
from torchtalkd.registration.cursor import FILES, cursor_add
from torchtalkd.registration.json_text import NotPlain, inserted, parsed, without_comments
from torchtalkd.registration.known import CLIENTS, adding, snippet
from torchtalkd.registration.program import program, serving
from torchtalkd.registration.registered import registered
from torchtalkd.registration.texts import texts

WORDS = ["/opt/a b/torchtalkd", "mcp-serve", "--source", '/src/"py\\torch"']


def words_of(entry: dict[str, Any]) -> list[str]:
    command = entry["command"]
    return list(command) if isinstance(command, list) else [command, *entry["args"]]


@pytest.mark.parametrize("name", CLIENTS)
def test_a_snippet_reads_back_as_the_command(name: str) -> None:
    client = CLIENTS[name]
    text = snippet(client, WORDS)
    read = tomllib.loads(text) if client.toml else json.loads(text)
    assert list(read) == [client.section] and list(read[client.section]) == ["torchtalk"]
    assert words_of(read[client.section]["torchtalk"]) == WORDS
    if said := adding(client, WORDS):
        assert "'/opt/a b/torchtalkd' mcp-serve --source" in said


def test_the_command_line_lists_the_clients_that_are_known() -> None:
    assert set(agent_arguments.CLIENTS) == set(CLIENTS)


@pytest.mark.parametrize("name", CLIENTS)
def test_mcp_config_prints_the_snippet_alone(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp-config", name, "--source", str(DEMO_TREE), "--harness", "pytorch"]) == 0
    told = capsys.readouterr()
    client = CLIENTS[name]
    read = tomllib.loads(told.out) if client.toml else json.loads(told.out)
    words = words_of(read[client.section]["torchtalk"])
    assert words[-5:] == ["mcp-serve", "--source", str(DEMO_TREE), "--harness", "pytorch"]
    assert os.path.isabs(words[0]) and client.files[0] in told.err


def test_mcp_config_of_a_tree_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["mcp-config", "claude", "--source", "/nowhere"]) == 2
    assert cli.main(["mcp-config", "notepad"]) == 2
    told = capsys.readouterr()
    assert not told.out and "/nowhere does not exist" in told.err and "notepad" in told.err


def test_the_program_is_named_with_its_whole_path(tmp_path: Path) -> None:
    own = tmp_path / "torchtalkd"
    own.write_text("#!/bin/sh\n", "utf-8")
    assert program({}, str(own)) != [str(own)], "it cannot be run"
    own.chmod(0o755)
    assert program({}, str(own)) == [str(own)]
    assert program({"PATH": str(tmp_path)}, "/elsewhere/pytest")[0].startswith("/")
    assert serving(["t"], None) == ["t", "mcp-serve"]


# -- JSON that others keep

KEPT = [
    "",
    "{}",
    "{\n}\n",
    '{"mcpServers": {}}',
    '{\n  "mcpServers": {\n    "other": { "command": "x", "args": [] }\n  },\n  "more": [1, 2]\n}\n',
    '{\n\t"more": {"mcpServers": 1},\n\t"mcpServers": {\n\t\t"a": {}\n\t}\n}',
    '{"a":"}","mcpServers":{"b":{"c":"\\"}"}}}',
    '{\r\n    "mcpServers": {\r\n    }\r\n}\r\n',
    '{\n  "title": "ünïcode \\u00e4"\n}\n',
]


@pytest.mark.parametrize("text", KEPT)
def test_a_member_is_put_in_and_nothing_else_changes(text: str) -> None:
    value = {"command": "t", "args": ["a", "ü"]}
    edited = inserted(text, "mcpServers", "torchtalk", value)
    wanted = parsed(text)
    wanted.setdefault("mcpServers", {})["torchtalk"] = value
    assert json.loads(edited) == wanted
    assert ("\r\n" in text) == ("\r\n" in edited) and edited.count("\n") >= text.count("\n")
    # Each line that was there is there, in its order; the one before the new member may have got a comma.
    left = iter(edited.replace("\r\n", "\n").split("\n"))
    for line in text.rstrip().replace("\r\n", "\n").split("\n")[:-1]:
        assert any(new.startswith(line.rstrip(" }")) for new in left), (line, edited)


@given(
    st.dictionaries(
        st.sampled_from(["mcpServers", "a", "b}", 'q"']),
        st.dictionaries(st.text(max_size=3), st.lists(st.text(max_size=3), max_size=2), max_size=2),
    ),
    st.sampled_from([None, 0, 2, 4, "\t"]),
)
def test_any_json_keeps_what_it_has(have: dict[str, Any], indent: Any) -> None:
    have.get("mcpServers", {}).pop("torchtalk", None)
    edited = inserted(json.dumps(have, indent=indent), "mcpServers", "torchtalk", {"x": 1})
    have.setdefault("mcpServers", {})["torchtalk"] = {"x": 1}
    assert json.loads(edited) == have


@pytest.mark.parametrize(
    "text", ['{"a": 1} // b', "[]", "{", '{"mcpServers": []}', "[" * 100_000, "\ufeff{}"]
)
def test_what_is_no_plain_object_is_refused(text: str) -> None:
    with pytest.raises(NotPlain):
        inserted(text, "mcpServers", "torchtalk", {})


def test_comments_are_read_over() -> None:
    text = '{ // one\n "a": "//no /* comment */", /* two\n */ "b": [1, 2,], "c": ",}",\n}'
    assert json_text.parsed(without_comments(text)) == {"a": "//no /* comment */", "b": [1, 2], "c": ",}"}


# -- Cursor


def test_cursor_gets_server_and_rules_and_the_second_time_nothing(tmp_path: Path) -> None:
    told = texts("cursor")
    assert set(told) == set(FILES)
    assert [done.what for done in cursor_add(tmp_path, WORDS, told)] == ["written"] * 3
    written = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {str(path.relative_to(tmp_path)) for path in written} == {".cursor/mcp.json", *FILES.values()}
    again = cursor_add(tmp_path, WORDS, told)
    assert all(done.what.startswith("unchanged") and not done.is_wrong for done in again)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == written


def test_cursor_keeps_what_is_there(tmp_path: Path) -> None:
    servers = tmp_path / ".cursor" / "mcp.json"
    rule = tmp_path / FILES["rules.mdc"]
    rule.parent.mkdir(parents=True)
    rule.write_text("mine\n", "utf-8")
    servers.write_text('{\n    "mcpServers": {\n        "other": {"url": "http://x"}\n    }\n}\n', "utf-8")
    servers.chmod(0o600)
    server, *_ = done = cursor_add(tmp_path, WORDS, texts("cursor"))
    assert not any(one.is_wrong for one in done)
    assert "added" in server.what and any("kept" in one.what for one in done)
    assert rule.read_text("utf-8") == "mine\n"
    text = servers.read_text("utf-8")
    assert '        "other": {"url": "http://x"},\n        "torchtalk": {\n' in text
    assert servers.stat().st_mode & 0o777 == 0o600
    other = cursor_add(tmp_path, ["/another", "mcp-serve"], texts("cursor"))[0]
    assert other.is_wrong and "by hand" in other.what and '"/another"' in other.what
    assert servers.read_text("utf-8") == text
    servers.write_text('{ "mcpServers": {} } // mine', "utf-8")
    left = cursor_add(tmp_path, WORDS, texts("cursor"))[0]
    assert left.is_wrong and "left as it is" in left.what
    assert servers.read_text("utf-8") == '{ "mcpServers": {} } // mine'


def test_cursor_add_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    project = tmp_path / "project"
    project.mkdir()
    call = ["cursor-add", "-C", str(project), "-p", str(DEMO_TREE), "--harness", "pytorch"]
    assert cli.main(call) == 0
    first = capsys.readouterr().out
    assert f"{project}/.cursor/mcp.json: written" in first
    entry = json.loads((project / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"]["torchtalk"]
    assert entry["args"][-4:] == ["--source", str(DEMO_TREE), "--harness", "pytorch"]
    assert cli.main([*call, "--json"]) == 0
    assert all(one["ok"] and "unchanged" in one["done"] for one in json.loads(capsys.readouterr().out))
    assert cli.main(["cursor-add", "-C", str(tmp_path / "none"), "-p", str(DEMO_TREE)]) == 2
    assert cli.main(["cursor-add", "-C", str(project), "-p", "/nowhere"]) == 2


# -- what is registered


def test_what_the_clients_have_registered_is_found(tmp_path: Path) -> None:
    home, project, tree = tmp_path / "home", tmp_path / "project", tmp_path / "tree"
    for folder in (home / ".codex", home / ".config/zed", project / ".vscode", tree):
        folder.mkdir(parents=True)
    good = tmp_path / "bin" / "torchtalkd"
    good.parent.mkdir()
    good.write_text("#!/bin/sh\n", "utf-8")
    good.chmod(0o755)
    words = serving([str(good)], str(tree))
    for key, path in (("claude", home / ".claude.json"), ("codex", home / ".codex/config.toml")):
        path.write_text(snippet(CLIENTS[key], words), "utf-8")
    gone = snippet(CLIENTS["vscode"], serving([str(good)], "/gone"))
    (project / ".vscode/mcp.json").write_text(gone, "utf-8")
    zed = snippet(CLIENTS["zed"], ["/gone/torchtalkd", "mcp-serve"])
    (home / ".config/zed/settings.json").write_text(f"// mine\n{zed}", "utf-8")
    (project / ".mcp.json").write_text("{", "utf-8")
    found = {(one.client, one.file.name): one for one in registered({"HOME": str(home)}, project)}
    assert found["claude", ".claude.json"].command == tuple(words)
    assert not found["claude", ".claude.json"].problem and not found["codex", "config.toml"].problem
    assert "/gone does not exist" in found["vscode", "mcp.json"].problem
    assert "/gone/torchtalkd does not exist" in found["zed", "settings.json"].problem
    assert "cannot be read" in found["claude", ".mcp.json"].problem
    assert len(found) == 5
    # What `claude mcp add` without a scope writes: for this project alone, in the user's file.
    entry = CLIENTS["claude"].entry(words)
    local = {"projects": {str(project): {"mcpServers": {"torchtalk": entry}}, "/other": {}}}
    (home / ".claude.json").write_text(json.dumps(local), "utf-8")
    here, there = (registered({"HOME": str(home)}, at) for at in (project, tmp_path))
    assert [one.command for one in here if one.file.name == ".claude.json"] == [tuple(words)]
    assert not [one for one in there if one.file.name == ".claude.json"]


# -- the plugin of Claude Code


def test_the_plugin_brings_no_server_of_its_own() -> None:
    plugin = REPOSITORY / "clients" / "claude-code"
    about = json.loads((plugin / ".claude-plugin/plugin.json").read_text("utf-8"))
    assert about["name"] == "torchtalk" and "mcpServers" not in about
    assert not list(plugin.rglob(".mcp.json"))
    (listed,) = json.loads((plugin / ".claude-plugin/marketplace.json").read_text("utf-8"))["plugins"]
    assert listed["name"] == about["name"]
    assert {file.stem for file in (plugin / "commands").iterdir()} == {"trace", "setup"}
    assert (plugin / "skills/torchtalk-analyzer/SKILL.md").is_file()


INSTRUCTIONS = (
    "clients/claude-code/skills/torchtalk-analyzer/SKILL.md",
    "clients/cursor/rules.mdc",
    "docs/agents.md",
)
_WRITTEN = re.compile(r"`([a-z_]+)\(([^`]*)\)`")


@pytest.mark.parametrize("path", INSTRUCTIONS)
def test_the_calls_that_instructions_name_are_taken(path: str) -> None:
    written = _WRITTEN.findall((REPOSITORY / path).read_text("utf-8"))
    assert len(written) > 8
    for tool, said in written:
        call = ast.parse(f"{tool}({said})", mode="eval").body
        assert isinstance(call, ast.Call)
        named = {keyword.arg: ast.literal_eval(keyword.value) for keyword in call.keywords if keyword.arg}
        # A value without its name is of the first argument.
        named |= dict(zip(TOOLS[tool], map(ast.literal_eval, call.args), strict=False))
        assert checked(tool, named) == named, (tool, said)
    assert {tool for tool, _ in written} >= {"trace", "search", "graph", "modules", "tests", "affected"}
