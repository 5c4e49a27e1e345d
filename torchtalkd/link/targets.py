"""Which module a file is compiled into, and so what a hole in its names stands for.

`TORCH_LIBRARY_EXPAND(TORCH_EXTENSION_NAME, m)` registers under the last component of the module's
name (torch/utils/cpp_extension.py `_define_torch_extension_name`; CMake projects do the same by
hand). The parser leaves `{TORCH_EXTENSION_NAME}` in the name, and what build files say (facts with
keys in `target:`) fills it in here. A file that several targets compile has several candidates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from torchtalkd import keys
from torchtalkd.facts import File, FiledDefinition
from torchtalkd.link.expand import Macro, expanded
from torchtalkd.link.source import Facts

EXTENSION_NAME: Final = "TORCH_EXTENSION_NAME"
_SUFFIX = re.compile(r"\.(?:cpp|cc|cxx|c|cu|hip|mm)$")
"""Suffixes that a build may replace: hipify, and copies that another compiler takes."""
_WORD = re.compile(r"\b[A-Za-z_]\w*")
_HOLE = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """What a build file makes one module of."""

    definition: FiledDefinition
    module: str
    """Its dotted name; `*` where the build file does not say."""
    sources: tuple[tuple[str, str], ...]
    """What it compiles, each as (folder of the build file, source as written there): see `_pattern`. None,
    where the build file does not say."""
    defines: dict[str, str]

    @property
    def last(self) -> str:
        """What TORCH_EXTENSION_NAME is in its files."""
        return self.defines.get(EXTENSION_NAME) or self.module.rpartition(".")[2]


def is_hole(name: str) -> bool:
    """Whether a name begins with a macro whose value another file says."""
    return name.startswith("{")


def targets(facts: Facts) -> tuple[Target, ...]:
    """All targets, in the order of the files."""
    found: tuple[Target, ...] | None = facts.kept_of_definitions.get(("target", "targets"))
    if found is None:
        made = []
        for key in facts.keys(keys.space(keys.target(""))):
            for definition in facts.definitions(key):
                if definition.file.role not in ("template", "test"):
                    detail = definition.fact.detail or {}
                    folder = definition.file.path.rpartition("/")[0]
                    sources = tuple((folder, str(s)) for s in detail.get("sources") or ())
                    defines = {str(k): str(v) for k, v in (detail.get("defines") or {}).items()}
                    made.append(Target(definition, definition.fact.name, sources, defines))
        made.sort(key=lambda target: target.definition.id)
        found = facts.kept_of_definitions["target", "targets"] = tuple(made)
    return found


def targets_of(facts: Facts, file: File) -> tuple[Target, ...]:
    """The targets that compile a file. Where none says so: the only one beside or above it whose
    sources the build file does not say."""
    kept: dict[int, tuple[Target, ...]] = facts.kept.setdefault("targets_of", {})
    found = kept.get(file.id)
    if found is None:
        path = _SUFFIX.sub("", file.path)
        found = tuple(
            t for t in targets(facts) if any(_pattern(*source).fullmatch(path) for source in t.sources)
        )
        if not found:
            unsaid = [t for t in targets(facts) if not t.sources and _is_above(t, file)]
            found = tuple(unsaid) if len({t.last for t in unsaid}) == 1 else ()
        else:
            # `Extension("pack._C", [])` of a setup.py that leaves the sources to CMake is that module, too.
            names = {t.last for t in found if EXTENSION_NAME in t.defines}
            found += tuple(t for t in targets(facts) if not t.sources and t.last in names)
        kept[file.id] = found
    return found


def is_built(facts: Facts, file: File) -> bool:
    """Whether what a file registers is registered in the product: its role says so, or, for a file called
    like a test (`pack_test.cu`), a target that lists it."""
    if file.role == "test":
        return any(target.sources for target in targets_of(facts, file))
    return file.role != "template"


def modules(facts: Facts, dotted: str) -> list[FiledDefinition]:
    """The targets that make a module of a full name; a build file may say only a pattern of it."""
    return [
        t.definition
        for t in _by_package(facts).get(dotted.partition(".")[0], ())
        if t.module.count(".") == dotted.count(".") and fnmatchcase(dotted, t.module)
    ]


def _is_above(target: Target, file: File) -> bool:
    folder = target.definition.file.path.rpartition("/")[0]
    return not folder or file.path.startswith(folder + "/")


@lru_cache(maxsize=8192)
def _pattern(folder: str, source: str) -> re.Pattern[str]:
    """The paths from the root, without suffix, that a source means. Build files are run from their own
    folder, or from one above it. Made when a file is looked for: PyTorch has three hundred."""
    while source.startswith("../"):
        source, folder = source[3:], folder.rpartition("/")[0]
    parts = folder.split("/") if folder else []
    prefixes = ["/".join(parts[:length]) for length in range(len(parts), -1, -1)]
    starts = "|".join(re.escape(prefix + "/") if prefix else "" for prefix in prefixes)
    text = "".join(_translated(part) for part in re.split(r"(\*\*/|\*|\?)", _SUFFIX.sub("", _any(source))))
    return re.compile(f"(?:{starts}){text}")


def _any(source: str) -> str:
    return re.sub(r"\.\*$", ".cpp", source)


def _translated(part: str) -> str:
    return {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}.get(part) or re.escape(part)


def names(facts: Facts, file: File, written: str) -> tuple[str, ...]:
    """What a name with holes is in a file: one for each module that the file is compiled into, in the
    order of the build files. Empty where nothing says it. A name without holes is itself."""
    if not is_hole(written):
        return (written,)
    hole = _HOLE.match(written)
    if hole is None:
        return ()
    values = _values(facts, file, hole[1])
    return tuple(dict.fromkeys(value + written[hole.end() :] for value in values))


def _values(facts: Facts, file: File, text: str) -> list[str]:
    """What the macro in a hole expands to in each of a file's targets."""
    kept: dict[tuple[int, str], list[str]] = facts.kept.setdefault("holes", {})
    found = kept.get((file.id, text))
    if found is None:
        found = []
        for target in targets_of(facts, file):
            table = {**_constants(facts, text), **target.defines, EXTENSION_NAME: target.last}
            found.append(_filled(facts, file, text, table))
        if not found and EXTENSION_NAME not in text:
            found.append(_filled(facts, file, text, _constants(facts, text)))
        found = kept[file.id, text] = [value for value in found if _NAME.fullmatch(value)]
    return found


_NAME = re.compile(r"(?!\d)[\w*]+")


def _filled(facts: Facts, file: File, text: str, table: dict[str, str]) -> str:
    def macro(name: str) -> Macro | None:
        found = facts.of_kind(keys.macro(name), "macro")
        for definition in sorted(found, key=lambda d: d.file.id != file.id):
            detail = definition.fact.detail or {}
            if definition.file.role != "template" and not detail.get("constant"):
                parameters = tuple(str(parameter) for parameter in detail.get("parameters") or ())
                return Macro(parameters, str(detail.get("body") or ""))
        return None

    for _ in range(_MOST_NESTED):
        before = text
        text = _WORD.sub(lambda word: table.get(word[0]) or word[0], text)
        text = expanded(text, macro) if "(" in text else text
        if text == before:
            break
    return text.strip().strip('"')


_MOST_NESTED: Final = 8


def _constants(facts: Facts, text: str) -> dict[str, str]:
    """The macros without parameters in a text that some file defines as a plain name."""
    found = {}
    for word in _WORD.findall(text):
        for definition in facts.of_kind(keys.macro(word), "macro"):
            detail = definition.fact.detail or {}
            if detail.get("constant") and definition.file.role != "template":
                found[word] = str(detail.get("body") or "")
    return found


def filled(facts: Facts, definition: FiledDefinition) -> list[FiledDefinition]:
    """A definition under each name that its holes stand for; as it is, where nothing says it."""
    written = definition.fact.name
    if not is_hole(written):
        return [definition]
    known = names(facts, definition.file, written)
    return [definition._replace(fact=definition.fact._replace(name=name)) for name in known] or [definition]


def _by_package(facts: Facts) -> dict[str, list[Target]]:
    """The targets by the first component of their module's name."""
    found: dict[str, list[Target]] | None = facts.kept_of_definitions.get(("target", "by_package"))
    if found is None:
        found = facts.kept_of_definitions["target", "by_package"] = {}
        for target in targets(facts):
            found.setdefault(target.module.partition(".")[0], []).append(target)
    return found


def bound_in_modules(facts: Facts, dotted: str) -> Iterator[FiledDefinition]:
    """What C++ binds under a full Python name whose module a build makes: `flash_attn_2_cuda.fwd`.

    The C++ file knows the module by its last component, or not at all.
    """
    parts = dotted.split(".")
    for target in _by_package(facts).get(parts[0], ()):
        length = target.module.count(".") + 1
        if len(parts) <= length or not fnmatchcase(".".join(parts[:length]), target.module):
            continue
        rest = ".".join(parts[length:])
        for owner in dict.fromkeys((f"{{{EXTENSION_NAME}}}", target.last)):
            if owner == target.module:
                continue
            for definition in facts.named(keys.py(rest), f"{owner}.{rest}"):
                is_bound = definition.fact.kind == "python_binding"
                if is_bound and target in targets_of(facts, definition.file):
                    yield definition._replace(fact=definition.fact._replace(name=dotted))
