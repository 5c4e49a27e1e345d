"""The tools, and what each takes: seven, and the older set of twelve under whose names TorchTalk's
first instructions call. Three are in both sets.

An older tool is a core tool with some arguments fixed, so that there is one answer to one question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from torchtalkd.queries import graph, modules, tests_answer
from torchtalkd.queries.affected import DEPTH
from torchtalkd.queries.search import MODES
from torchtalkd.queries.trace import FOCUSES

MOST_MATCHES: Final = 1_000
"""The highest `limit`."""
MOST_PAGES: Final = 1_000
DEEPEST: Final = 20
"""Steps of `affected`."""


class Parameter(NamedTuple):
    """One argument of a tool."""

    required: bool = False
    choices: tuple[str, ...] = ()
    """The texts that it may be; empty for any."""
    number: tuple[int, int] | None = None
    """The least and the highest number; None for no number."""
    flag: bool = False
    """Yes or no."""
    default: str | int | bool = ""


class Older(NamedTuple):
    """A tool of the older set: what it is of the core set."""

    tool: str
    """The core tool; its own name where it has no other."""
    names: Mapping[str, str]
    """Its arguments → the core tool's."""
    fixed: Mapping[str, str | int]
    """What else the core tool is called with."""


_NO: Final = Parameter(flag=True, default=False)
_ALL_ROOTS: Final = _NO
_WAIT: Final = _NO
_PAGE: Final = Parameter(number=(1, MOST_PAGES), default=1)
_NAME: Final = Parameter(required=True)
_LIMIT: Final = Parameter(number=(1, MOST_MATCHES), default=10)
_MORE: Final = {"page": _PAGE, "wait": _WAIT}

CORE: Final[Mapping[str, Mapping[str, Parameter]]] = {
    "get_status": {"wait": _WAIT},
    "trace": {
        "func": _NAME,
        "focus": Parameter(choices=FOCUSES, default="full"),
        **_MORE,
        "all_roots": _ALL_ROOTS,
    },
    "search": {
        "query": _NAME,
        "mode": Parameter(choices=MODES, default="bindings"),
        "backend": Parameter(),
        "limit": _LIMIT,
        **_MORE,
        "all_roots": _ALL_ROOTS,
    },
    "graph": {
        "func": _NAME,
        "mode": Parameter(choices=graph.MODES, default="callers"),
        "depth": Parameter(number=(1, graph.DEEPEST), default=2),
        "fuzzy_all_levels": _NO,
        "walk_python": _NO,
        "focus": Parameter(choices=graph.FOCUSES, default="callers"),
        **_MORE,
    },
    "modules": {
        "name": _NAME,
        "mode": Parameter(choices=modules.MODES, default="trace"),
        "focus": Parameter(choices=modules.FOCUSES, default="methods"),
        **_MORE,
    },
    "tests": {
        "query": Parameter(),
        "mode": Parameter(choices=tests_answer.MODES, default="find"),
        "limit": _LIMIT,
        "focus": Parameter(
            choices=tuple(dict.fromkeys((*tests_answer.FOCUSES, *tests_answer.CATEGORIES))), default="all"
        ),
        **_MORE,
    },
    "affected": {
        "funcs": _NAME,
        "depth": Parameter(number=(1, DEEPEST), default=DEPTH),
        **_MORE,
    },
}
"""By tool, by argument; in the order in which they are listed."""

_FUNC: Final = {"function_name": "func"}

OLDER: Final[Mapping[str, Older]] = {
    "cuda_kernels": Older("cuda_kernels", {}, {}),
    "calls": Older("graph", _FUNC, {"mode": "calls"}),
    "called_by": Older("graph", _FUNC, {"mode": "callers"}),
    "impact": Older("graph", {**_FUNC, "depth": "depth"}, {"mode": "impact", "focus": "full"}),
    "trace_module": Older("modules", {"module_name": "name"}, {"mode": "trace"}),
    "list_modules": Older("modules", {"category": "name"}, {"mode": "list"}),
    "find_similar_tests": Older("tests", {"query": "query", "limit": "limit"}, {"mode": "find"}),
    "list_test_utils": Older("tests", {"category": "focus"}, {"mode": "utils", "limit": MOST_MATCHES}),
    "test_file_info": Older("tests", {"file_path": "query"}, {"mode": "file_info", "limit": MOST_MATCHES}),
}
"""What the older set has beside `get_status`, `trace` and `search`."""

_OLDER_PARAMETERS: Final[Mapping[str, Mapping[str, Parameter]]] = {
    "cuda_kernels": {
        "function_name": Parameter(),
        "limit": Parameter(number=(1, MOST_MATCHES), default=50),
        **_MORE,
    },
    "calls": {"function_name": _NAME, **_MORE},
    "called_by": {"function_name": _NAME, **_MORE},
    "impact": {"function_name": _NAME, "depth": CORE["graph"]["depth"], **_MORE},
    "trace_module": {"module_name": _NAME, **_MORE},
    "list_modules": {"category": Parameter(default="nn"), **_MORE},
    "find_similar_tests": {"query": _NAME, "limit": _LIMIT, **_MORE},
    "list_test_utils": {
        "category": Parameter(choices=tests_answer.CATEGORIES, default="all"),
        **_MORE,
    },
    "test_file_info": {"file_path": _NAME, **_MORE},
}

TOOLS: Final[Mapping[str, Mapping[str, Parameter]]] = {**CORE, **_OLDER_PARAMETERS}

SETS: Final[Mapping[str, tuple[str, ...]]] = {
    "core": tuple(CORE),
    "classic": ("get_status", "trace", "search", *OLDER),
    "all": tuple(TOOLS),
}
"""What `mcp-serve --tools` may serve; the last one is the default."""

UNDECLARED: Final[Mapping[str, tuple[str, ...]]] = {
    "function_name": ("func", "funcs", "query"),
    "functions": ("funcs",),
    "file_path": ("query",),
    "category": ("name", "focus"),
    "func": ("function_name", "funcs"),
    "module_name": ("name",),
    "name": ("func", "function_name", "module_name", "query"),
    "query": ("func", "function_name"),
}
"""Names that an argument has in other instructions → what may be meant, the first that the tool has. No
schema declares them."""
