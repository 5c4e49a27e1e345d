"""A tree's own generator: it runs when it is trusted, as it was trusted, and can do nothing else."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

from torchtalkd.compilation import fence, generate, standing
from torchtalkd.compilation.generated import code_digest, what_runs
from torchtalkd.conventions import Conventions, load
from torchtalkd.conventions.compiling import Compilation, ConfiguredHeader, Generator

GENERATOR: Final = """
import pathlib, sys
import yaml
from gen.names import header
source, out = map(pathlib.Path, sys.argv[1:])
ops = yaml.safe_load((source / "ops.yaml").read_text())
for op in ops:
    (out / "ops").mkdir(exist_ok=True, parents=True)
    (out / "ops" / f"{op}.h").write_text(header(op))
(out / "all.h").write_text("".join(f"#include <ops/{op}.h>\\n" for op in ops))
"""
NAMES: Final = "def header(op):\n    return f'void {op}();\\n'\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    top = (tmp_path / "root").resolve()
    (top / "gen").mkdir(parents=True)
    (top / "gen" / "main.py").write_text(GENERATOR)
    (top / "gen" / "names.py").write_text(NAMES)
    (top / "ops.yaml").write_text("[add, mul]\n")
    (top / "config.h.in").write_text("#define V @V@\n")
    return top


@pytest.fixture
def made(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "made"


def conventions(*arguments: str, module: str = "gen.main", **fields: object) -> Conventions:
    generator = Generator(
        id="gen",
        module=module,
        arguments=arguments or ("{root}", "{out}"),
        code=("gen",),
        inputs=("ops.yaml",),
        packages=("yaml",),
        makes=("all.h",),
    )
    generator = replace(generator, **fields)  # type: ignore[arg-type]
    configured = (ConfiguredHeader("config.h", "config.h.in", {"V": "2"}),)
    recipe = Compilation(generators=(generator,), configured=configured)
    return replace(load("torch-extension"), compilation=recipe)


def body(root: Path, made: Path, code: str, *, seconds: int = 60, **fields: object) -> str:
    """What is said when the generator's code is this one, and trusted."""
    (root / "gen" / "main.py").write_text(code)
    told = conventions(**fields)  # type: ignore[arg-type]
    done = generate(root, told, made, code_digest(root, told), seconds=seconds)
    assert (done.state == "failed") == bool(done.sentence)
    return done.sentence


def test_a_trusted_generator_makes_its_headers(root: Path, made: Path) -> None:
    told = conventions()
    trusted = code_digest(root, told)
    assert standing(root, told, made, trusted).state == "outdated"
    heard: list[str] = []
    done = generate(root, told, made, trusted, told=heard.append)
    assert (done.state, done.sentence, heard) == ("current", "", ["gen.main runs"])
    assert (made / "ops/mul.h").read_text() == "void mul();\n"
    # Configured headers stand beside them, as in a build.
    assert (made / "config.h").read_text() == "#define V 2\n"
    assert standing(root, told, made, trusted) == done
    # Nothing else is left in the cache, and nothing in the tree.
    assert {path.name.partition("-")[0] for path in made.parent.iterdir()} == {
        "made",
        "version",
        "lock",
        "generated.json",
    }
    assert {path.name for path in root.iterdir()} == {"gen", "ops.yaml", "config.h.in"}
    assert {path.name for path in (root / "gen").iterdir()} == {"main.py", "names.py"}


def test_nobody_runs_what_is_not_trusted(root: Path, made: Path) -> None:
    told = conventions()
    for trusted in ("", "0" * 64):
        done = generate(root, told, made, trusted)
        assert done.state == ("changed" if trusted else "untrusted")
        assert f"torchtalkd trust {root}" in done.sentence
        assert not made.exists()


@pytest.mark.parametrize("path", ["gen/names.py", "gen/new.py", "gen/data.txt"])
def test_another_digest_asks_again(root: Path, made: Path, path: str) -> None:
    told = conventions()
    trusted = code_digest(root, told)
    generate(root, told, made, trusted)
    (root / path).write_text("# changed\n")
    assert generate(root, told, made, trusted).state == "changed"
    assert standing(root, told, made, trusted).state == "changed"
    # What was made by what was trusted stays.
    assert (made / "all.h").exists()


def test_it_runs_again_when_its_inputs_change_and_keeps_what_is_the_same(root: Path, made: Path) -> None:
    told = conventions()
    trusted = code_digest(root, told)
    generate(root, told, made, trusted)
    before = (made / "ops/mul.h").stat()
    (root / "ops.yaml").write_text("[mul, sub]\n")
    assert standing(root, told, made, trusted).state == "outdated"
    assert generate(root, told, made, trusted).state == "current"
    assert sorted(path.name for path in (made / "ops").iterdir()) == ["mul.h", "sub.h"]
    after = (made / "ops/mul.h").stat()
    # A compiler that looks at times sees no change where there is none.
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert len([path for path in made.parent.iterdir() if path.name.startswith("version-")]) == 1


def test_a_touch_is_no_change(root: Path, made: Path) -> None:
    told = conventions()
    trusted = code_digest(root, told)
    generate(root, told, made, trusted)
    os.utime(root / "ops.yaml", (1, 1))
    (root / "other.yaml").write_text("x")
    assert standing(root, told, made, trusted).state == "current"


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("raise ValueError('no such operator')", "gen.main failed: ValueError: no such operator"),
        ("import sys; sys.exit(3)", "gen.main failed with exit code 3"),
        ("import sys; sys.exit('bad input')", "gen.main failed: bad input"),
        ("x = (", "gen.main failed: SyntaxError: '(' was never closed"),
        ("pass", "gen.main did not make all.h"),
        ("import os; os.kill(os.getpid(), 11)", "gen.main failed with exit code -11"),
    ],
)
def test_a_failing_generator_says_so_and_keeps_the_former(
    root: Path, made: Path, code: str, sentence: str
) -> None:
    told = conventions()
    generate(root, told, made, code_digest(root, told))
    assert body(root, made, code) == sentence
    assert (made / "ops/add.h").exists()
    assert not list(made.parent.glob("run-*"))
    # It is not run again and again: only other inputs give it another chance.
    again = generate(root, told, made, code_digest(root, told))
    assert (again.state, again.sentence) == ("failed", sentence)
    heard: list[str] = []
    generate(root, told, made, code_digest(root, told), again=True, told=heard.append)
    assert heard == ["gen.main runs"]
    (root / "gen" / "main.py").write_text(GENERATOR)
    assert generate(root, told, made, code_digest(root, told)).state == "current"


def test_it_inherits_nothing(root: Path, made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "x")
    monkeypatch.setenv("PYTHONPATH", str(root / "gen"))
    code = (
        "import os, sys\n"
        "assert set(os.environ) <= {'TMPDIR', 'LC_ALL', 'LC_CTYPE'}, dict(os.environ)\n"
        "assert os.listdir() == [], os.listdir()\n"
        "assert sys.flags.isolated and sys.stdin.read() == ''\n"
        "assert not os.path.exists('/proc/self/fd/9'), os.listdir('/proc/self/fd')\n"
        "open(sys.argv[2] + '/all.h', 'w').close()\n"
    )
    handles = [open(root / "ops.yaml") for _ in range(12)]  # noqa: SIM115
    try:
        assert body(root, made, code) == ""
    finally:
        for handle in handles:
            handle.close()


@pytest.mark.parametrize("module", ["torchtalkd", "pytest", "pip", "setuptools", "clang", "_pytest"])
def test_it_imports_its_own_code_the_named_packages_and_no_other(root: Path, made: Path, module: str) -> None:
    said = body(root, made, f"import yaml, gen.names, json\nimport {module}\n")
    assert said == f"gen.main failed: ModuleNotFoundError: No module named '{module}'"


def test_a_package_that_is_not_installed_is_named(root: Path, made: Path) -> None:
    said = body(root, made, GENERATOR, packages=("no_such_package",))
    assert said == "gen.main was not run: the Python package no_such_package is not installed"


def test_what_runs_is_the_copy_that_was_digested(root: Path, made: Path) -> None:
    """Nothing that the tree's files become after the look at them has a say."""
    code = (
        "import pathlib, sys\n"
        f"tree = pathlib.Path({str(root)!r})\n"
        "assert pathlib.Path(__file__).is_relative_to(sys.argv[1])\n"
        "assert not pathlib.Path(sys.argv[1]).is_relative_to(tree)\n"
        "assert not any(path == str(tree) for path in sys.path)\n"
        "open(sys.argv[2] + '/all.h', 'w').close()\n"
    )
    assert body(root, made, code) == ""


def test_inside_it_runs_where_its_inputs_are(root: Path, made: Path) -> None:
    code = "import os, sys; assert os.path.isfile('ops.yaml'); open(sys.argv[2] + '/all.h', 'w').close()"
    assert body(root, made, code, inside=True) == ""


def test_time_and_what_it_starts_are_bounded(root: Path, made: Path) -> None:
    started = time.monotonic()
    assert body(root, made, "while True: pass", seconds=1).startswith("gen.main was stopped after 1 s")
    wait = "import os, threading\nos.fork()\nthreading.Event().wait()\n"
    assert body(root, made, wait, seconds=1) == "gen.main was stopped after 1 s"
    assert time.monotonic() - started < 30


def test_memory_and_files_are_bounded(root: Path, made: Path) -> None:
    if sys.platform == "linux":  # macOS knows no limit of the address space.
        assert "MemoryError" in body(root, made, "x = bytearray(8_000_000_000)")
    much = "import sys\nf = open(sys.argv[2] + '/x', 'wb')\nf.truncate(1_000_000_000)\n"
    assert body(root, made, much) != ""


def test_the_kernel_refuses_writes_elsewhere_programs_and_the_network(
    root: Path, made: Path, tmp_path: Path
) -> None:
    if not _fenced(tmp_path):
        pytest.skip("this kernel has no Landlock")
    outside = tmp_path / "outside"
    for what in (
        f"open({str(outside)!r}, 'w')",
        f"import os; os.mkdir({str(outside)!r})",
        f"import os; os.unlink({str(root / 'ops.yaml')!r})",
        f"import os; os.rename({str(root / 'ops.yaml')!r}, {str(outside)!r})",
        f"import os; os.symlink('x', {str(outside)!r})",
        f"import os; os.truncate({str(root / 'ops.yaml')!r}, 0)",
        "import subprocess; subprocess.run(['/bin/true'], check=True)",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
    ):
        assert "PermissionError" in body(root, made, what), what
    assert not outside.exists()
    assert (root / "ops.yaml").read_text() == "[add, mul]\n"


def _fenced(folder: Path) -> bool:
    """Whether the kernel fences a process in: asked in a process of its own."""
    if sys.platform != "linux":
        return False
    child = os.fork()
    if child == 0:
        os._exit(0 if fence.confine([str(folder)]) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_links_out_of_the_tree_and_pipes_are_not_read(root: Path, made: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text("SECRET = 1")
    (root / "gen" / "secret.py").symlink_to(tmp_path / "secret.py")
    os.mkfifo(root / "gen" / "pipe.py")
    (root / "gen" / "zero.py").symlink_to("/dev/zero")
    said = body(root, made, "from gen import secret")
    assert said.startswith("gen.main failed: ImportError: cannot import name 'secret'")


def test_a_tree_without_its_code_has_nothing_to_trust(root: Path, made: Path) -> None:
    told = conventions(module="gen.other")
    assert code_digest(root, told) == ""
    assert what_runs(root, told) == ()
    assert standing(root, told, made, "").state == "none"
    assert generate(root, told, made, "x").state == "none"
    assert what_runs(root, conventions()) == ("gen.main",)


def test_too_much_to_be_a_generator_is_refused(
    root: Path, made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("torchtalkd.compilation.sources.MOST_BYTES", 1000)
    (root / "gen" / "large.py").write_text("#" * 900)
    found = standing(root, conventions(), made, "")
    assert found.state == "failed"
    assert "more than a generator reads" in found.sentence
    assert generate(root, conventions(), made, "").state == "failed"
