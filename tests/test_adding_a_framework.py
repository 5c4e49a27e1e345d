"""docs/adding-a-framework.md, followed to the letter: its files, its commands, what it says they give."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import yaml

from tests.conftest import REPOSITORY
from torchtalkd import cli

PAGE = REPOSITORY / "docs" / "adding-a-framework.md"


def files(text: str) -> dict[str, str]:
    """The files of the page: a path on a line of its own, then a block."""
    return dict(re.findall(r"^`([\w./]+)`:\n\n```\w+\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def test_the_page_can_be_followed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    text = PAGE.read_text("utf-8")
    tree = tmp_path / "spin"
    written = files(text)
    assert set(written) == {"csrc/spin.h", "csrc/spin.cpp", "spin/__init__.py", "tests/integration/spin.yml"}

    def write(path: str) -> None:
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_text(written[path])

    def run(line: str) -> tuple[int, str]:
        program, *words = shlex.split(line)
        assert program == "torchtalkd"
        capfd.readouterr()
        return cli.main(words), capfd.readouterr().out

    for path in written:
        if not path.startswith("tests/"):
            write(path)
    monkeypatch.chdir(tree)
    draft_it, verify_it, ask, verify_again = blocks(text, "sh")
    head, _, guess = blocks(text, "toml")

    assert run(draft_it)[0] == 0
    own = tree / ".torchtalk.toml"
    draft = own.read_text()
    assert head in draft
    assert guess in draft
    meant = re.sub("^# ", "", guess.split("\n", 2)[2], flags=re.MULTILINE).replace("NAMESPACE::", "spin::")
    own.write_text(draft.replace(guess, meant))

    code, out = run(verify_it)
    assert code == 0, out
    assert "every registration in the tree is one that a convention matched" in out
    assert "anchors: none" in out

    for line in ask.splitlines():
        code, out = run(line)
        assert code == 0, (line, out)
        assert "spin" in out

    write("tests/integration/spin.yml")
    code, out = run(verify_again)
    assert code == 0, out
    assert "all 3 checks hold" in out
    proposed = re.search(r"^    \[expected_minimums\]\n(?:    \w+ = \d+\n)+", out, re.MULTILINE)
    assert proposed
    own.write_text(own.read_text() + re.sub("^    ", "", proposed.group(), flags=re.MULTILINE))
    code, out = run(verify_again)
    assert code == 0, out
    assert "ok    schema" in out
    (tree / "csrc" / "spin.cpp").write_text("")
    code, out = run(verify_again)
    assert code == 1
    assert "SHORT schema" in out
    assert "FAILS torch.ops.spin.rotate" in out


def test_the_issue_template_is_one() -> None:
    form = yaml.safe_load((REPOSITORY / ".github/ISSUE_TEMPLATE/new-framework.yml").read_text("utf-8"))
    assert {"name", "description", "body"} <= set(form)
    fields = [one for one in form["body"] if one["type"] != "markdown"]
    assert all(one["attributes"]["label"] and one["id"] for one in fields)
    assert len({one["id"] for one in fields}) == len(fields)
