"""What is wrong with a call, and the schema that says what may be asked.

A model reads the refusal and calls again, so it says what is allowed. Calls written for
TorchTalk's server are understood: `function_name` means `func`, though no schema declares it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from torchtalkd.frontends.mcp.descriptions import PARAMETERS
from torchtalkd.frontends.mcp.tools import SETS, TOOLS, UNDECLARED, Parameter


class Refused(Exception):
    """A call that no tool takes; `str()` says what is allowed."""


def checked(tool: str, arguments: Mapping[str, Any], served: Iterable[str] = SETS["core"]) -> dict[str, Any]:
    """The arguments under their declared names, those that say nothing left out. Raises Refused, which
    for an unknown tool lists those that are `served`."""
    parameters = TOOLS.get(tool)
    if parameters is None:
        raise Refused(f"Unknown tool {_quoted(tool)}; the tools are {', '.join(map(_short, served))}")
    found: dict[str, Any] = {}
    for given, value in arguments.items():
        name = _declared(given, parameters)
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
        "properties": {name: _described(tool, name, parameter) for name, parameter in parameters.items()},
    }
    if required := [name for name, parameter in parameters.items() if parameter.required]:
        found["required"] = required
    return found


def usage(tool: str) -> str:
    """How a tool is called, in one line: `trace(func, focus=full|yaml|dispatch)`."""
    return f"{tool}({', '.join(_shown(name, p) for name, p in TOOLS[tool].items())})"


def _short(tool: str) -> str:
    """A tool with what it must be given."""
    return f"{tool}({', '.join(name for name, parameter in TOOLS[tool].items() if parameter.required)})"


def _declared(given: str, parameters: Mapping[str, Parameter]) -> str:
    """The tool's own name of an argument."""
    if given in parameters:
        return given
    return next((name for name in UNDECLARED.get(given, ()) if name in parameters), given)


def _described(tool: str, name: str, parameter: Parameter) -> dict[str, Any]:
    kind = "integer" if parameter.number else "boolean" if parameter.flag else "string"
    found: dict[str, Any] = {"type": kind}
    found["description"] = PARAMETERS.get(f"{tool}.{name}") or PARAMETERS[name]
    if parameter.choices:
        found["enum"] = list(parameter.choices)
    if parameter.number:
        found |= dict(zip(("minimum", "maximum"), parameter.number, strict=True))
    if not parameter.required:
        found["default"] = parameter.default
    return found


def _shown(name: str, parameter: Parameter) -> str:
    if parameter.choices:
        return f"{name}={'|'.join(parameter.choices)}"
    if parameter.number:
        least, most = parameter.number
        return f"{name}={least}…{most}"
    if parameter.flag:
        return f"{name}=true|false"
    return name if parameter.required else f"{name}=text"


def _value(tool: str, name: str, parameter: Parameter, value: Any) -> Any:
    if parameter.number:
        least, most = parameter.number
        number = _whole(value)
        if number < least:
            raise Refused(f"{name} is a whole number from {least} to {most}, not {_quoted(value)}")
        return min(number, most)
    if parameter.flag:
        return _flag(name, value)
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        # A list of names, where one text with commas is meant.
        value = ", ".join(value) if name == "funcs" else value
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
