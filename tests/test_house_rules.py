"""The rules of the house, read from the code with `ast`: who may import whom, and how modules look.

Each rule is a function from sources (path → text) to sentences that say what is wrong, so that
the last tests can hand it a bad source and see it caught.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping

import pytest

from tests.conftest import REPOSITORY

MAY_IMPORT: Mapping[str, str] = {
    # part: the parts that it may import
    "facts": "test_rules",
    # The part of the rules that is about tests alone.
    "test_rules": "",
    "changes": "",
    # A text of an editor as parse reads it and the store shows it; what stands at one place of it.
    "overlay": "facts",
    "spots": "",
    # What a compiler's reading of one file gives: parse makes it, the engine joins it, the store keeps it.
    "readings": "facts",
    # What a client of any protocol counts columns in: the bridge keeps an editor's texts, too.
    "columns": "",
    "run_folder": "",
    "own_process": "run_folder",
    "free_memory": "",
    "wire": "own_process run_folder",
    "config": "",
    "keys": "facts",
    "conventions": "facts keys manifests",
    "manifests": "",
    "integration": "",
    "parse": "facts keys conventions overlay spots readings",
    "compilation": "facts conventions",
    "codegen": "facts keys",
    "vcs": "",
    "link": "facts keys codegen spots",
    "store": "facts overlay readings",
    "watch": "changes",
    "engine": "changes facts free_memory keys own_process readings conventions parse compilation store vcs",
    "snapshots": "facts store vcs",
    # What a tree holds whoever reads it: no index takes part, so it sees what the parsers miss. Its
    # values are what `queries.verify` compares a view with.
    "harness": "conventions engine facts",
    "harness.values": "",
    # `store.decorators` counts in one statement what a view would read row by row; what each test file runs
    # is worked out from all rows at once (`store.whole`).
    "queries": "facts keys link spots store.view store.decorators store.whole store.rows harness.values",
    # A command asks `roots` which tree is meant and `index` for a look at its facts.
    # What was made to read a tree exactly lies beside its index, and goes with it.
    "cache": "config store compilation.values",
    "roots": "config conventions",
    # Whose index is the framework of another one: what is remembered, and what lies in the cache; and where
    # that one's headers are, which whoever reads the other exactly must know.
    "bases": "cache compilation config conventions roots store",
    # What clients of agents are told of this program is texts in other programs' files: no tree takes part.
    "registration": "",
    # Whoever looks for what is wrong must see all that can be.
    "doctor": "bases cache compilation config conventions index registration roots store watch wire",
    # What is kept is told with where the tree is now, which no revision of the index can know.
    "index": "cache conventions engine facts store vcs",
    "frontends": "facts queries",
    "frontends.host": "overlay spots queries store.view",
    # A difference is read where the command's words are (`affected --since`), and handed on as lines.
    "frontends.command": "facts queries frontends config cache bases roots index store.view wire"
    " conventions harness snapshots link.includes vcs.differences compilation registration doctor",
    "frontends.mcp": "facts queries frontends store.view",
    "frontends.lsp": "columns facts keys overlay queries frontends spots store.view store.overlaid",
    "daemon": "*",
    "cli": "*",
    # What agents' clients and editors start is begun with as little as can be.
    "bridge_arguments": "",
    "command_arguments": "frontends.command",
    "__main__": "cli",
    "clients": "columns wire",
}
"""The table of the architecture. `store.view` means that one module of `store`. Everybody may
import the package's own version and modules of its own part."""

THIRD_PARTY: Mapping[str, str] = {
    # module: the parts that may import it
    "tree_sitter": "parse",
    "tree_sitter_cpp": "parse",
    "tree_sitter_cuda": "parse",
    "tree_sitter_python": "parse",
    "clang": "parse compilation",
    "yaml": "parse harness",
    "rapidfuzz": "queries link",
    "watchdog": "watch",
    "pygls": "frontends.lsp",
    "lsprotocol": "frontends.lsp",
    "mcp": "frontends.mcp",
    # of the standard library, where it is a part's business alone
    "tomllib": "conventions config parse registration",
    "sqlite3": "store",
    "asyncio": "daemon frontends.lsp frontends.mcp",
}

TOP_LEVEL = frozenset(
    {
        "torchtalkd",
        "clients",
        "manifests",
        "tests",
        "editors",
        "docs",
        "pyproject.toml",
        "README.md",
        "LICENSE",
    }
    | {"CHANGELOG.md", ".ci", ".github", ".gitignore", ".gitattributes"}
)

NO_NAMES = re.compile(r"(^|_)(utils?|helpers?|misc|common)$")
MOST_LINES = 400
KEY_SPACES = re.compile(r"(cpp|op|py|attr|macro|file|test|tag|target):(?!:)")
Sources = Mapping[str, str]


def sources(*folders: str) -> dict[str, str]:
    """Our own Python files below the folders: path from the repository → text."""
    return {
        path.relative_to(REPOSITORY).as_posix(): path.read_text("utf-8")
        for folder in folders
        for path in sorted((REPOSITORY / folder).rglob("*.py"))
        if not {"demo_tree", "trees", "cases", "__pycache__"} & set(path.relative_to(REPOSITORY).parts)
    }


# -- the rules


def wrong_imports(files: Sources) -> Iterator[str]:
    """Imports that the two tables do not allow, wherever in the file they stand."""
    for path, text in files.items():
        part = part_of(module_name(path))
        if part not in MAY_IMPORT:
            yield f"{path}: {part} has no row in MAY_IMPORT"
            continue
        for line, module in imported(path, text):
            ours, _, inner = module.partition(".")
            if ours in ("torchtalkd", "torchtalkd_clients"):
                own = ours == "torchtalkd_clients" and part == "clients"
                if not own and not may_import(part, inner):
                    yield f"{path}:{line}: {part} may not import {module}"
            elif ours in THIRD_PARTY:
                if not any(_inside(part, owner) for owner in THIRD_PARTY[ours].split()):
                    yield f"{path}:{line}: only {THIRD_PARTY[ours]} may import {ours}"
            elif ours not in sys.stdlib_module_names:
                yield f"{path}:{line}: {ours} is in no table"


def may_import(part: str, inner: str) -> bool:
    """Whether a part may import torchtalkd.`inner`."""
    allowed = MAY_IMPORT[part]
    if not inner or inner.startswith("__") or allowed == "*":
        return part != "clients" or not inner
    return any(_inside(inner, other) for other in [part, *allowed.split()])


def too_long(files: Sources) -> Iterator[str]:
    """Modules that no longer answer one question."""
    for path, text in files.items():
        if (count := text.count("\n")) > MOST_LINES:
            yield f"{path}: {count} lines, {MOST_LINES} at most"


def undocumented(files: Sources) -> Iterator[str]:
    """Modules, and their public functions and classes, that do not say what they are."""
    for path, text in files.items():
        tree = ast.parse(text)
        if not ast.get_docstring(tree):
            yield f"{path}: no docstring"
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and not (
                node.name.startswith("_") or ast.get_docstring(node)
            ):
                yield f"{path}:{node.lineno}: {node.name} has no docstring"


def vague_names(files: Sources) -> Iterator[str]:
    """Modules named by what they are not."""
    for path in files:
        if any(NO_NAMES.search(name) for name in module_name(path).split(".")):
            yield f"{path}: name it by what it answers"


def prints(files: Sources) -> Iterator[str]:
    """Output made anywhere but where a command answers."""
    for path, text in files.items():
        if part_of(module_name(path)) in ("cli", "frontends.command", "clients"):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print":
                yield f"{path}:{node.lineno}: print"


def spelled_keys(files: Sources) -> Iterator[str]:
    """Strings that spell the space of a key anywhere but in keys.py."""
    for path, text in files.items():
        if path == "torchtalkd/keys.py":
            continue
        tree = ast.parse(text)
        prose = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        for node in ast.walk(tree):
            if not isinstance(node, ast.Constant) or not isinstance(node.value, str) or id(node) in prose:
                continue
            if KEY_SPACES.match(node.value):
                yield f"{path}:{node.lineno}: {node.value!r} spells a key's space: use torchtalkd.keys"


def sleeps(files: Sources) -> Iterator[str]:
    """Tests that wait for time to pass instead of for a state."""
    for path, text in files.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "time.sleep",
                "asyncio.sleep",
                "sleep",
            ):
                yield f"{path}:{node.lineno}: sleep"


# -- reading names


def module_name(path: str) -> str:
    """`torchtalkd/store/view.py` → `torchtalkd.store.view`; clients is installed as torchtalkd_clients."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    for folder, package in (
        ("clients", "torchtalkd_clients"),
        ("manifests", "torchtalkd.manifests"),
        ("tests.integration", "torchtalkd.integration"),
    ):
        name = re.sub(rf"^{folder}\b", package, name)
    return name


def part_of(module: str) -> str:
    """The row of MAY_IMPORT that a module belongs to, the longest that fits."""
    if module.partition(".")[0] == "torchtalkd_clients":
        return "clients"
    inner = module.partition(".")[2]
    if not inner:
        return "facts"  # torchtalkd/__init__.py imports nothing, as facts.py
    fits = [part for part in MAY_IMPORT if _inside(inner, part)]
    return max(fits, key=len, default=inner.partition(".")[0])


def imported(path: str, text: str) -> Iterator[tuple[int, str]]:
    """(line, module) for each import; `from torchtalkd import facts` is torchtalkd.facts."""
    package = module_name(path).split(".")
    if not path.endswith("__init__.py"):
        package = package[:-1]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                base = ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])
            if base == "torchtalkd" or _names_a_package(base):
                yield from ((node.lineno, f"{base}.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, base


def _names_a_package(module: str) -> bool:
    """Whether `from module import x` may import a module x of ours."""
    return module.startswith("torchtalkd.") and (REPOSITORY / module.replace(".", "/")).is_dir()


def _inside(module: str, part: str) -> bool:
    return module == part or module.startswith(part + ".")


# -- our code keeps the rules


@pytest.mark.parametrize(
    "rule",
    [wrong_imports, too_long, undocumented, vague_names, prints, spelled_keys],
    ids=lambda r: r.__name__,
)
def test_our_code_keeps_the_rule(rule: object) -> None:
    assert callable(rule)
    assert list(rule(sources("torchtalkd", "clients", "manifests", "tests/integration"))) == []


def test_no_test_sleeps() -> None:
    assert list(sleeps(sources("tests"))) == []


def test_the_top_level_holds_only_what_was_agreed() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a git work tree")
    assert {line.partition("/")[0].strip('"') for line in listed.stdout.splitlines()} <= TOP_LEVEL


def test_pyproject_lists_each_package() -> None:
    setuptools = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
    files = sources("torchtalkd", "clients", "manifests", "tests/integration")
    packages = {path.rpartition("/")[0] for path in files}
    assert {folder for folder in packages if f"{folder}/__init__.py" not in files} == set()
    assert set(setuptools["packages"]) == {module_name(f"{folder}/__init__.py") for folder in packages}


# -- the rules catch what they are for

BAD = {
    wrong_imports: {
        "torchtalkd/link/x.py": "from torchtalkd.store import view",
        "torchtalkd/queries/y.py": "def f():\n    import torchtalkd.store.writer",
        "torchtalkd/queries/z.py": "from torchtalkd import parse",
        "torchtalkd/queries/r.py": "from ..engine import build",
        "torchtalkd/engine/s.py": "import sqlite3",
        "torchtalkd/frontends/text.py": "import mcp",
        "torchtalkd/facts.py": "import numpy",
        "torchtalkd/novelty/__init__.py": "",
        "clients/bridge.py": "from torchtalkd.facts import Rules",
    },
    too_long: {"torchtalkd/a.py": "\n" * (MOST_LINES + 1)},
    undocumented: {
        "torchtalkd/a.py": "def f(): ...",
        "torchtalkd/b.py": '"""B."""\nclass C:\n    x = 1',
        "torchtalkd/c.py": "x = 1",
    },
    vague_names: {"torchtalkd/utils.py": "", "torchtalkd/parse/cpp_helpers.py": ""},
    prints: {"torchtalkd/link/a.py": "def f():\n    print(1)"},
    spelled_keys: {"torchtalkd/link/a.py": "def f(x):\n    return 'cpp:' + x"},
    sleeps: {"tests/test_a.py": "import time\ntime.sleep(1)"},
}


@pytest.mark.parametrize("rule", BAD, ids=lambda r: r.__name__)
def test_the_rule_catches_a_violation(rule: object) -> None:
    assert callable(rule)
    for path, text in BAD[rule].items():  # type: ignore[index]
        assert list(rule({path: text})), f"{path} should be refused: {text}"


def test_the_rules_let_good_code_pass() -> None:
    good = {
        "torchtalkd/queries/a.py": '"""A cpp: key."""\nfrom torchtalkd import __version__, facts\n'
        "from torchtalkd.store.view import View\nfrom . import trace\n",
        "torchtalkd/frontends/command/b.py": '"""B."""\nfrom torchtalkd.frontends import text\nprint(1)\n',
        "clients/c.py": '"""C."""\nimport socket\n',
    }
    for rule in (wrong_imports, too_long, undocumented, vague_names, prints, spelled_keys):
        assert list(rule(good)) == []
