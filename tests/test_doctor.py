"""The doctor: each thing that can be wrong is found, with what mends it; a sound home has nothing to fix."""

from __future__ import annotations

import json
import os
import shutil
import socket
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import DEMO_TREE, _copy
from tests.daemons import Home, new_home
from torchtalkd import cli, wire
from torchtalkd.cache import index_folder
from torchtalkd.compilation.cuda import Cuda
from torchtalkd.compilation.generated import Standing
from torchtalkd.compilation.machine import Machine
from torchtalkd.compilation.standard_library import StandardLibrary
from torchtalkd.conventions import load
from torchtalkd.doctor import compiling as of_compiling
from torchtalkd.doctor import look
from torchtalkd.doctor import versions as of_versions
from torchtalkd.doctor.values import FIX, Finding
from torchtalkd.engine import build
from torchtalkd.registration.known import CLIENTS, snippet
from torchtalkd.registration.program import serving
from torchtalkd.watch import limits

SCRIPT = "#!/usr/bin/python3\nimport sys\nfrom torchtalkd.cli import main\nsys.exit(main())\n"


class Here:
    """A user of the test's own, with one tree that is remembered and indexed."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.bin = folder / "bin"
        self.tree = _copy(DEMO_TREE, folder / "tree")
        for path in (self.home, self.bin, folder / "run"):
            path.mkdir(mode=0o700)
        self.environ = {
            "HOME": str(self.home),
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "XDG_RUNTIME_DIR": str(folder / "run"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        self.program = self.script("torchtalkd", SCRIPT)
        config = folder / "config" / "torchtalk" / "config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[torchtalkd]\ndefault = "{self.tree}"\n', "utf-8")
        self.config = config
        build(self.tree, index_folder(self.tree, self.environ), load("pytorch", tree=self.tree), workers=1)

    def script(self, name: str, text: str) -> Path:
        path = self.bin / name
        path.write_text(text, "utf-8")
        path.chmod(0o755)
        return path

    def look(self, **more: Any) -> list[Finding]:
        return look(self.environ, self.home, **more)

    def wrong(self, **more: Any) -> list[Finding]:
        return [finding for finding in self.look(**more) if finding.level == FIX]


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path)


def the(found: list[Finding], about: str, word: str) -> Finding:
    """The one finding about something that says a word."""
    (one,) = [finding for finding in found if finding.about == about and word in finding.said]
    return one


def test_a_sound_home_has_nothing_to_fix(here: Here) -> None:
    found = here.look()
    assert not [finding for finding in found if finding.level == FIX], found
    assert {"versions", "programs", "socket", "daemon", "configuration", "tree", "watching", "clients"} <= {
        finding.about for finding in found
    }
    assert f"{here.tree} (pytorch): revision 1" in the(found, "tree", "revision").said
    assert str(here.program) in the(found, "programs", "torchtalkd is").said


def test_a_foreign_torchtalk_on_the_path(here: Here) -> None:
    foreign = here.script("torchtalk", "#!/usr/bin/python3\nfrom torchtalk.cli import main\nmain()\n")
    one = the(here.wrong(), "programs", "another program")
    assert str(foreign) in one.said and "torchtalkd" in one.fix and str(foreign) in one.fix
    here.script("torchtalk", SCRIPT)
    assert not here.wrong()


def test_a_configuration_and_trees_that_cannot_be(here: Here) -> None:
    here.config.write_text(
        f'[torchtalkd]\ndefault = "{here.tree}"\n[torchtalkd.sources]\n"/gone" = "pytorch"\n', "utf-8"
    )
    one = the(here.wrong(), "tree", "/gone")
    assert one.fix == "torchtalkd forget /gone"
    here.config.write_text("[torchtalkd\n", "utf-8")
    assert str(here.config) in the(here.wrong(), "configuration", "not valid TOML").fix
    here.config.write_text("", "utf-8")
    assert the(here.wrong(), "tree", "which source tree").fix.startswith("torchtalkd init --source ")
    named = the(here.wrong(source="/nowhere"), "tree", "/nowhere does not exist")
    assert named.fix


def test_a_tree_that_is_not_indexed_and_one_that_is_gone(here: Here) -> None:
    other = _copy(DEMO_TREE, here.home / "other")
    one = the(here.look(source=str(other), harness="pytorch"), "tree", "not indexed")
    assert one.level != FIX and one.fix == f"torchtalkd index build --source {other}"
    shutil.rmtree(here.tree)
    found = here.look()
    assert the(found, "tree", "takes ").fix == f"torchtalkd forget {here.tree}"
    assert the(found, "tree", "the configuration names").level == FIX


def test_the_socket_s_folder(here: Here, tmp_path: Path) -> None:
    folder = tmp_path / "run" / "torchtalkd"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)
    one = the(here.wrong(), "socket", "open to others")
    assert one.fix == f"chmod 700 {folder}"
    folder.chmod(0o700)
    path = wire.socket_path(here.environ)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    path.chmod(0o600)
    assert "nobody answers" in the(here.look(), "socket", "").said
    path.chmod(0o666)
    assert the(here.wrong(), "socket", "open to others").fix == f"chmod 600 {path}"


def test_too_few_watches(here: Here, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "max_user_watches").write_text("8\n", "ascii")
    monkeypatch.setattr(limits, "_FOLDER", tmp_path)
    one = the(here.wrong(), "watching", "8 watches allowed")
    assert one.fix.startswith("sudo sysctl fs.inotify.max_user_watches=")


def test_libraries_that_lack_or_are_too_old(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = [("pytest", "1000.1"), ("no-such-library", "2"), ("pytest", "1")]
    monkeypatch.setattr(of_versions, "required", lambda: wanted)
    found = here.wrong()
    assert "pip install 'pytest>=1000.1'" in the(found, "versions", "1000.1 or later").fix
    assert "pip install 'no-such-library>=2'" in the(found, "versions", "not installed").fix
    assert metadata.version("pytest") in the(here.look(), "versions", "Python").said
    here.environ["PATH"] = str(here.bin)
    assert the(here.look(), "versions", "no git").fix


def test_what_reading_c_plus_plus_exactly_needs(here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Machine(
        18, Path("/headers"), StandardLibrary((), "/usr/include/c++", ""), Cuda("", "", (), ()), ()
    )
    monkeypatch.setattr(of_compiling, "machine", lambda *_: found)
    assert the(here.look(), "compiling", "libclang 18").level != FIX
    for state, sentence, fix in (
        ("untrusted", "generated headers missing", "torchtalkd trust "),
        ("changed", "has changed", "torchtalkd trust "),
        ("failed", "no module x", "torchtalkd status --compile "),
    ):
        told = Standing(state, sentence, "a", "b")  # type: ignore[arg-type]
        monkeypatch.setattr(of_compiling, "standing", lambda *_, told=told: told)
        (one,) = [one for one in here.look() if one.about == "compiling" and one.fix]
        assert one.fix.startswith(fix) and (one.level == FIX) == (state != "untrusted")
    missing = found._replace(builtin=None)
    monkeypatch.setattr(of_compiling, "machine", lambda *_: missing)
    assert the(here.look(), "compiling", "by name only").fix.startswith("pip install 'clang-tidy==18")


def test_what_clients_have_registered(here: Here) -> None:
    claude = here.home / ".claude.json"
    words = serving([str(here.program)], str(here.tree))
    claude.write_text(snippet(CLIENTS["claude"], words), "utf-8")
    one = the(here.look(), "clients", "Claude Code")
    assert one.level != FIX and " ".join(words) in one.said
    claude.write_text(snippet(CLIENTS["claude"], ["/gone/torchtalkd", "mcp-serve"]), "utf-8")
    one = the(here.wrong(), "clients", "/gone/torchtalkd does not exist")
    assert "torchtalkd mcp-config claude" in one.fix and "claude mcp add torchtalk" in one.fix
    foreign = here.script("torchtalk", "#!/usr/bin/python3\nfrom torchtalk.cli import main\nmain()\n")
    claude.write_text(snippet(CLIENTS["claude"], [str(foreign), "mcp-serve"]), "utf-8")
    assert the(here.wrong(), "clients", "another program").fix
    foreign.unlink()
    entry = {"command": str(here.program), "args": ["mcp-serve"]}
    twice = {"mcpServers": {"torchtalk": entry, "tt": entry}}
    claude.write_text(json.dumps(twice), "utf-8")
    assert "2 times: torchtalk, tt" in the(here.wrong(), "clients", "times").said
    claude.write_text("{", "utf-8")
    assert str(claude) in the(here.wrong(), "clients", "cannot be read").fix
    claude.write_text("{}", "utf-8")
    one = the(here.look(), "clients", "not registered")
    assert one.fix == "torchtalkd mcp-config claude"


def test_two_servers_on_one_language(here: Here) -> None:
    plugins = here.home / ".claude" / "plugins"
    listed = {}
    for name, command in (("ours@x", "torchtalkd"), ("pyright@x", "pyright-langserver"), ("go@x", "gopls")):
        folder = plugins / name
        folder.mkdir(parents=True)
        extension = ".go" if name == "go@x" else ".py"
        server = {name: {"command": command, "args": [], "extensionToLanguage": {extension: "x"}}}
        (folder / ".lsp.json").write_text(json.dumps(server), "utf-8")
        listed[name] = [{"installPath": str(folder)}]
    installed = plugins / "installed_plugins.json"
    installed.write_text(json.dumps({"version": 2, "plugins": listed}), "utf-8")
    one = the(here.wrong(), "languages", ".py")
    assert "ours@x" in one.said and one.fix == "claude plugin disable pyright@x"
    del listed["ours@x"]
    installed.write_text(json.dumps({"plugins": listed}), "utf-8")
    assert not here.wrong(), "what others do among themselves is theirs"


def test_the_daemon_and_its_clients() -> None:
    with new_home() as home:
        tree = _copy(DEMO_TREE, home.folder / "tree")
        assert home.run("trace", "mul", "--source", tree, "--harness", "pytorch").returncode == 0
        told = doctor(home, "--source", tree, "--harness", "pytorch")
        (one,) = [finding for finding in told["findings"] if finding["about"] == "daemon"]
        assert one["level"] == "ok" and f"process {home.pid()}" in one["said"]
        (at,) = [finding for finding in told["findings"] if finding["about"] == "socket"]
        assert at["level"] == "ok" and str(home.socket()) in at["said"]
        assert home.pid(), "it is not ended by being looked at"


def test_the_command(here: Here, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for name, value in here.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(here.home)
    assert cli.main(["doctor"]) == 0
    assert capsys.readouterr().out.endswith("nothing to fix\n")
    here.config.write_text("", "utf-8")
    assert cli.main(["doctor"]) == 1
    told = capsys.readouterr().out
    assert "FIX   tree: " in told and "\n      fix: torchtalkd init --source " in told
    assert told.endswith("1 thing to fix\n")
    assert cli.main(["doctor", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["to_fix"] == 1


def doctor(home: Home, *arguments: object) -> Any:
    """What the command says in a home, as a process."""
    return home.json("doctor", *arguments)
