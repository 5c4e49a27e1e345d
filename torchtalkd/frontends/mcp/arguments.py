"""What may be asked of the tools, and what is wrong with a call that asks something else.

A model reads the refusal and calls again, so it says what is allowed. Calls written for
TorchTalk's server are understood: `function_name` means `func`, though no schema declares it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from torchtalkd.frontends.mcp.descriptions import PARAMETERS
from torchtalkd.queries.search import MODES
from torchtalkd.queries.trace import FOCUSES

MOST_MATCHES: Final = 200
"""The highest `limit` of a search: more lines than these fit in no answer."""


class Parameter(NamedTuple):
    """One argument of a tool."""

    required: bool = False
    choices: tuple[str, ...] = ()
    """The texts that it may be; empty for any."""
    number: bool = False
    flag: bool = False
    """Yes or no."""
    default: str | int | bool = ""


_WAIT: Final = Parameter(flag=True, default=False)
_ALL_ROOTS: Final = Parameter(flag=True, default=False)

TOOLS: Final[Mapping[str, Mapping[str, Parameter]]] = {
    "get_status": {"wait": _WAIT},
    "trace": {
        "func": Parameter(required=True),
        "focus": Parameter(choices=FOCUSES, default="full"),
        "wait": _WAIT,
        "all_roots": _ALL_ROOTS,
    },
    "search": {
        "query": Parameter(required=True),
        "mode": Parameter(choices=MODES, default="bindings"),
        "backend": Parameter(),
        "limit": Parameter(number=True, default=10),
        "wait": _WAIT,
        "all_roots": _ALL_ROOTS,
    },
}
"""By tool, by argument; in the order in which they are listed."""

_OLDER_NAMES: Final = {"function_name": "func"}
_NOT_YET: Final = {
    "graph": "C++ call graph not available",
    "calls": "C++ call graph not available",
    "callers": "C++ call graph not available",
    "called_by": "C++ call graph not available",
    "impact": "C++ call graph not available",
    "tests": "Test infrastructure not loaded",
}
"""Tools that TorchTalk has and this version lacks, with the words in which it says so."""


class Refused(Exception):
    """A call that no tool takes; `str()` says what is allowed."""


def checked(tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments under their declared names, those that say nothing left out. Raises Refused."""
    parameters = TOOLS.get(tool)
    if parameters is None:
        why = f"{_NOT_YET[tool]}: no tool" if tool in _NOT_YET else "Unknown tool"
        raise Refused(f"{why} {_quoted(tool)}; the tools are {'; '.join(map(usage, TOOLS))}")
    found: dict[str, Any] = {}
    for given, value in arguments.items():
        name = given if given in parameters else _OLDER_NAMES.get(given, given)
        if name not in parameters:
            raise Refused(f"{tool} has no argument {_quoted(given)}: {usage(tool)}")
        if value is not None and name not in found:
            found[name] = _value(tool, name, parameters[name], value)
    found = {name: value for name, value in found.items() if value != ""}
    for name, parameter in parameters.items():
        if parameter.required and name not in found:
            raise Refused(f"{tool} needs {name}: {usage(tool)}")
    return found


def schema(tool: str) -> dict[str, Any]:
    """What a tool takes, as JSON Schema of the plainest kind: some clients refuse all others."""
    parameters = TOOLS[tool]
    found: dict[str, Any] = {
        "type": "object",
        "properties": {name: _described(name, parameter) for name, parameter in parameters.items()},
    }
    if required := [name for name, parameter in parameters.items() if parameter.required]:
        found["required"] = required
    return found


def _described(name: str, parameter: Parameter) -> dict[str, Any]:
    kind = "integer" if parameter.number else "boolean" if parameter.flag else "string"
    found: dict[str, Any] = {"type": kind}
    found["description"] = PARAMETERS[name]
    if parameter.choices:
        found["enum"] = list(parameter.choices)
    if parameter.number:
        found |= {"minimum": 1, "maximum": MOST_MATCHES}
    if not parameter.required:
        found["default"] = parameter.default
    return found


def usage(tool: str) -> str:
    """How a tool is called, in one line: `trace(func, focus=full|yaml|dispatch)`."""
    return f"{tool}({', '.join(_shown(name, p) for name, p in TOOLS[tool].items())})"


def _shown(name: str, parameter: Parameter) -> str:
    if parameter.choices:
        return f"{name}={'|'.join(parameter.choices)}"
    if parameter.number:
        return f"{name}=1…{MOST_MATCHES}"
    if parameter.flag:
        return f"{name}=true|false"
    return name if parameter.required else f"{name}=text"


def _value(tool: str, name: str, parameter: Parameter, value: Any) -> Any:
    if parameter.number:
        number = _whole(value)
        if number < 1:
            raise Refused(f"{name} is a whole number from 1 to {MOST_MATCHES}, not {_quoted(value)}")
        return min(number, MOST_MATCHES)
    if parameter.flag:
        return _flag(name, value)
    if not isinstance(value, str):
        raise Refused(f"{name} is a text, not {_quoted(value)}: {usage(tool)}")
    # Half a surrogate pair is valid JSON and no text that anything behind here can look up.
    text = value.encode("utf-8", "backslashreplace").decode("utf-8").strip()
    if parameter.choices and text:
        if text.casefold() not in parameter.choices:
            raise Refused(f"{name} is one of {', '.join(parameter.choices)}, not {_quoted(value)}")
        return text.casefold()
    return text


def _flag(name: str, value: Any) -> bool:
    """Yes or no, which models write as text, too. Raises Refused."""
    word = value.strip().casefold() if isinstance(value, str) else value
    if word in (True, "true") or word in (False, "false"):
        return word in (True, "true")
    raise Refused(f"{name} is true or false, not {_quoted(value)}")


def _whole(value: Any) -> int:
    """A number, which models write as text, too; 0 for anything else."""
    if isinstance(value, bool):
        return 0
    if isinstance(value, int | float):
        return int(value) if value == value // 1 else 0
    text = value.strip() if isinstance(value, str) else ""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0


def _quoted(value: object) -> str:
    text = ascii(value) if not isinstance(value, int) or abs(value) < 10**80 else "that many digits"
    return text if len(text) <= 80 else f"{text[:76]}…{text[-1]}"
