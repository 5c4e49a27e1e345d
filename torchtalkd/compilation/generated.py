"""The headers that a tree's own generator makes: run it if the user trusts it and its inputs changed.

What runs is code of the tree, the one exception to "a tree is data". So it runs only when the digest of all
that it may import is the one that the user trusted (`torchtalkd trust PATH`), and it runs on a copy: what was
digested is what runs. It gets no environment, imports nothing but the copy, the standard library and the
packages that the manifest names, writes only to the cache, and its time and memory are bounded (`fence.py`).
Where it fails, what was there stays. The tests are in `tests/test_generated.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from importlib import util
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from torchtalkd.compilation import fence
from torchtalkd.compilation.configured import configure
from torchtalkd.compilation.sources import TooMuch, digest_of, read_files
from torchtalkd.compilation.versions import STAMP, held, new_version, take_over
from torchtalkd.conventions.compiling import Generator
from torchtalkd.conventions.values import Conventions

SECONDS: Final = 300
"""Of CPU time, and of time, for one generator: PyTorch's take 20."""
_BYTES: Final = 4_000_000_000
_FILE_BYTES: Final = 200_000_000
_MOST_SAID: Final = 2000

State = Literal["none", "current", "outdated", "untrusted", "changed", "failed"]
"""none: the manifest names no generator, or the tree has none of its code. untrusted: nobody trusted it.
changed: its code is not what was trusted. outdated: trusted, and to be run. failed: it ran with these inputs
and could not."""


class Standing(NamedTuple):
    """How it stands with the generated headers of a tree."""

    state: State
    sentence: str
    """What to say to the user; '' where all is well or nothing is generated."""
    code: str
    """Digest of all that would run; '' for none."""
    inputs: str
    """Digest of that and of all that it reads."""
    files: int = 0
    """Made by the last run that succeeded."""
    seconds: float = 0.0
    """That it took."""


def code_digest(root: Path, conventions: Conventions) -> str:
    """What trust is given to: a digest of all that the generators of a tree may import; '' where the tree has
    none. Raises TooMuch."""
    generators = conventions.compilation.generators
    code = read_files(root, _all(generators, "code"))
    return digest_of(code) if code and any(_is_there(generator, code) for generator in generators) else ""


def what_runs(root: Path, conventions: Conventions) -> tuple[str, ...]:
    """The modules of the tree that would run."""
    generators = conventions.compilation.generators
    code = read_files(root, _all(generators, "code"))
    return tuple(generator.module for generator in generators if _is_there(generator, code))


def standing(root: Path, conventions: Conventions, made: Path, trusted: str) -> Standing:
    """Whether the generated headers are there and as the tree is now. `trusted` is the digest that the user
    trusted for this root, '' for none. Reads files only."""
    try:
        return _standing(root, conventions, made, trusted)[0]
    except TooMuch as error:
        return Standing("failed", str(error), "", "")


def generate(
    root: Path,
    conventions: Conventions,
    made: Path,
    trusted: str,
    *,
    again: bool = False,
    told: Callable[[str], None] = lambda sentence: None,
    seconds: int = SECONDS,
) -> Standing:
    """Runs the generators of a trusted tree if what they made is not of its present text, and puts what they
    made in place. `again`: also if they failed with this very text, as somebody asks for. `told` hears what
    is done. Raises OSError where the cache cannot be written."""
    made.parent.mkdir(parents=True, exist_ok=True)
    with held(made):
        try:
            found, files = _standing(root, conventions, made, trusted)
        except TooMuch as error:
            return Standing("failed", str(error), "", "")
        if found.state != "outdated" and not (again and found.state == "failed"):
            return found
        for left in made.parent.glob("run-*"):
            shutil.rmtree(left, ignore_errors=True)  # Of a run that was killed.
        started = time.monotonic()
        run = Path(tempfile.mkdtemp(prefix="run-", dir=made.parent))
        version = new_version(made)
        try:
            failure = _run(run, version, conventions, files, seconds, told)
            if not failure:
                configure(root, conventions.compilation.configured, conventions.rules.version, version)
                take_over(made, version)
        finally:
            shutil.rmtree(run, ignore_errors=True)
            if not made.is_dir() or made.resolve() != version.resolve():
                shutil.rmtree(version, ignore_errors=True)
        kept = _stamp(made)
        if failure:
            _write_stamp(made, {**kept, "failed": found.inputs, "why": failure})
            return found._replace(state="failed", sentence=failure)
        count = sum(len(names) for _, _, names in os.walk(made.resolve()))
        took = round(time.monotonic() - started, 1)
        _write_stamp(made, {"inputs": found.inputs, "files": count, "seconds": took})
        return found._replace(state="current", sentence="", files=count, seconds=took)


def _standing(
    root: Path, conventions: Conventions, made: Path, trusted: str
) -> tuple[Standing, dict[str, bytes]]:
    generators = conventions.compilation.generators
    code = read_files(root, _all(generators, "code"))
    present = [generator for generator in generators if _is_there(generator, code)]
    if not present:
        return Standing("none", "", "", ""), {}
    files = code | read_files(root, _all(present, "inputs"))
    calls = [f"{one.module} {one.arguments} {one.packages} {one.makes}" for one in present]
    program = f"Python {sys.version} {[_package_version(name) for one in present for name in one.packages]}"
    running = digest_of(code)
    inputs = digest_of(files, program, *calls)
    stamp = _stamp(made)
    known = Standing("outdated", "", running, inputs, stamp.get("files", 0), stamp.get("seconds", 0.0))
    if trusted != running:
        ask = f"torchtalkd trust {root}"
        if not trusted:
            return known._replace(state="untrusted", sentence=f"generated headers missing: {ask}"), files
        changed = f"what generates headers has changed since it was trusted: {ask}"
        return known._replace(state="changed", sentence=changed), files
    if stamp.get("inputs") == inputs and made.is_dir():
        return known._replace(state="current"), files
    if stamp.get("failed") == inputs:
        return known._replace(state="failed", sentence=str(stamp.get("why", ""))), files
    return known, files


def _is_there(generator: Generator, code: dict[str, bytes]) -> bool:
    path = generator.module.replace(".", "/")
    return f"{path}.py" in code or f"{path}/__main__.py" in code


def _all(generators: Iterable[Generator], field: Literal["code", "inputs"]) -> list[str]:
    return list(dict.fromkeys(one for generator in generators for one in getattr(generator, field)))


# -- running


def _run(
    run: Path,
    out: Path,
    conventions: Conventions,
    files: dict[str, bytes],
    seconds: int,
    told: Callable[[str], None],
) -> str:
    """Why the generators could not make the headers, '' where they did."""
    copy, packages, empty = run / "tree", run / "packages", run / "empty"
    for folder in (copy, packages, empty):
        folder.mkdir()
    for name, data in files.items():
        path = copy / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for generator in conventions.compilation.generators:
        if not _is_there(generator, files):
            continue
        told(f"{generator.module} runs")
        for package in generator.packages:
            if failure := _make_importable(package, packages):
                return f"{generator.module} was not run: {failure}"
        values = {"{root}": str(copy), "{out}": str(out)}
        arguments = [_filled(argument, values) for argument in generator.arguments]
        limits = {
            "seconds": seconds,
            "bytes": _BYTES,
            "file_bytes": _FILE_BYTES,
            "write": [str(run), str(out)],
            "python": [str(copy), str(packages)],
        }
        command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", fence.__file__, json.dumps(limits)]
        failure = _ended(
            [*command, generator.module, *arguments], copy if generator.inside else empty, run, seconds
        )
        if failure:
            return f"{generator.module} {failure}"
        if lacking := [name for name in generator.makes if not (out / name).is_file()]:
            return f"{generator.module} did not make {lacking[0]}"
    return ""


def _ended(command: list[str], folder: Path, run: Path, seconds: int) -> str:
    """How a command ended that failed; '' where it succeeded."""
    said = run / "said"
    with said.open("wb") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            # Not an inherited word. Temporary files, too, are in the cache.
            env={"TMPDIR": str(run), "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return f"was stopped after {seconds} s"
        finally:
            # Also whatever it started and left behind.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    if code == 0:
        return ""
    if -code in (signal.SIGXCPU, signal.SIGKILL):
        return f"was stopped after {seconds} s of CPU time"
    with said.open("rb") as stream:
        stream.seek(max(0, said.stat().st_size - _MOST_SAID))
        lines = stream.read().decode("utf-8", "replace").strip().splitlines()
    return f"failed: {lines[-1]}" if lines else f"failed with exit code {code}"


def _make_importable(package: str, folder: Path) -> str:
    """A package of ours becomes importable alone, without what is installed beside it."""
    found = util.find_spec(package)
    if found is None or found.origin is None:
        return f"the Python package {package} is not installed"
    inside = found.submodule_search_locations
    place = Path(next(iter(inside)) if inside else found.origin)
    if not (folder / place.name).is_symlink():
        (folder / place.name).symlink_to(place)
    return ""


def _package_version(package: str) -> str:
    found = util.find_spec(package)
    if found is None or found.origin is None:
        return package
    known = os.stat(found.origin)
    return f"{package} {known.st_size} {known.st_mtime_ns}"


def _filled(argument: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        argument = argument.replace(name, value)
    return argument


# -- what was made


def _stamp(made: Path) -> dict[str, Any]:
    try:
        stamp = json.loads((made.parent / STAMP).read_bytes())
    except (OSError, ValueError):
        return {}  # Nothing was made yet, or what it was is not known: it is made again.
    return stamp if isinstance(stamp, dict) else {}


def _write_stamp(made: Path, stamp: dict[str, Any]) -> None:
    temporary = made.parent / (STAMP + ".new")
    temporary.write_text(json.dumps(stamp))
    os.replace(temporary, made.parent / STAMP)
