"""Extension modules that pyproject.toml itself declares: `[[tool.setuptools.ext-modules]]`.

https://setuptools.pypa.io/en/latest/userguide/ext_modules.html says how; the keys are those of
setuptools' Extension with `-` for `_`.
"""

from __future__ import annotations

import tomllib

from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import FileFacts, Problem
from torchtalkd.parse.target_facts import TargetFacts, add_target


def parse_pyproject(path: str, data: bytes, conventions: Conventions, language: str, role: str) -> FileFacts:
    """The targets of one pyproject.toml. Never raises for any bytes."""
    text = data.decode("utf-8", "replace")
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        return FileFacts(path, language, role, problems=(Problem(0, "syntax", f"not valid TOML: {error}"),))
    found = TargetFacts()
    for word in ("tool", "setuptools"):
        inner = table.get(word)
        table = inner if isinstance(inner, dict) else {}
    modules = table.get("ext-modules")
    for module in modules if isinstance(modules, list) else ():
        name = module.get("name") if isinstance(module, dict) else None
        if not isinstance(name, str):
            continue
        offset = max(text.find(f'"{name}"'), 0)
        line = text.count("\n", 0, offset) + 1
        column = len(text[text.rfind("\n", 0, offset) + 1 : offset].encode())
        sources = [source for source in _listed(module.get("sources")) if isinstance(source, str)]
        defines = {
            str(pair[0]): str(pair[1]) if len(pair) > 1 else ""
            for pair in _listed(module.get("define-macros"))
            if isinstance(pair, list) and pair
        }
        add_target(found, name, line, column, line, "ext-modules", sources, defines)
    return FileFacts(path, language, role, tuple(found.definitions), tuple(found.references))


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
