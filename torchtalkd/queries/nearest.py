"""nearest: names that exist and are spelled like one that does not.

Operators and Python bindings first, then every name of the tree. Suggestions only: no
answer is ever made of one.
"""

from __future__ import annotations

import re
from typing import Final

from rapidfuzz import fuzz, process

from torchtalkd.store.view import View

MOST: Final = 5
LEAST_RATIO: Final = 70.0
"""Per cent of likeness (rapidfuzz's ratio) below which a name is not worth a suggestion."""


def nearest(view: View, text: str, limit: int = MOST) -> list[str]:
    """The likest names, best first; a name that differs in case alone comes before all.

    Operators are compared one and all; of the other names, too many to be read for this, those
    that begin with the same two characters, in either case. Of a file's path what it defines.
    """
    if is_path(text):
        return _names_in(view, text, limit)
    last = text.replace("::", ".").rpartition(".")[2] or text
    found: dict[str, float] = {}
    for name, score in _likest(view.keys("op"), last, limit):
        found[name] = score + _OPERATOR_BONUS
    for space in ("py", "cpp", "macro"):
        for begin in sorted({last[:2], last[:2].lower(), last[:2].upper(), last[:2].capitalize()}):
            if begin:
                for name, score in _likest(view.keys(space, begin), last, limit):
                    found[name] = max(found.get(name, 0.0), score)
    # Of a name that exists in a space that answers nothing (an ONNX function's) it is no hint.
    found.pop(text, None)
    return sorted(found, key=lambda name: (-found[name], len(name), name))[:limit]


def alike_words(asked: str, names: list[str] | tuple[str, ...]) -> str:
    """What the names that are suggested for one that does not exist are."""
    if not is_path(asked):
        return "spelled alike"
    return "files of that name" if is_path(names[0]) else "defined in that file"


def is_path(text: str) -> bool:
    """Whether a text is that of a source file's path, or of its end, rather than a name."""
    return bool(_PATH.fullmatch(text))


_PATH: Final = re.compile(r"[\w./+-]+\.(?:c|cc|cpp|cu|cuh|h|hpp|m|mm|metal|py|pyi|yaml)")
_NAMED: Final = ("function", "kernel", "structured_impl", "class", "stub")


def _names_in(view: View, path: str, limit: int) -> list[str]:
    """What the file at a path defines for others, in the order of the text; paths, where several end so."""
    files = [file for file in view.files() if file.path == path or file.path.endswith(f"/{path}")]
    if len(files) != 1:
        return [file.path for file in files[:limit]]
    found = (d.fact for d in view.kinds_in(files[0], _NAMED))
    return list(dict.fromkeys(f.name for f in found if not (f.local or f.declares)))[:limit]


_OPERATOR_BONUS: Final = 3.0
"""Per cent that an operator is liker than another name: it is what most people ask for."""


def _likest(keys_found: list[str], wanted: str, limit: int) -> list[tuple[str, float]]:
    """Names of about the same length: one of another length cannot be like enough."""
    slack = max(2, len(wanted) * 3 // 10)
    folded = wanted.casefold()
    begin = keys_found[0].index(":") + 1 if keys_found else 0
    least, most = begin + len(wanted) - slack, begin + len(wanted) + slack
    choices = [key[begin:] for key in keys_found if least <= len(key) <= most]
    likest = process.extract(wanted, choices, scorer=fuzz.ratio, limit=limit, score_cutoff=LEAST_RATIO)
    found = [(name, score) for name, score, _ in likest]
    found.extend((name, _SAME_BUT_CASE) for name in choices if name.casefold() == folded)
    return found


_SAME_BUT_CASE: Final = 120.0
"""Per cent: above every name that differs in a letter."""
