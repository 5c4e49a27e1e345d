"""What a class gives its objects: `self.fc = nn.Linear(3, 4)`. Pure.

A Reference of kind `holds` at the attribute, with the key of what is called and the name
`fc = torch.nn.Linear`, so that `link` finds it from the class around and from what it holds. Found by
a pattern over the text: a pattern of the query would be tried with each assignment of the file.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from torchtalkd.facts import Reference
from torchtalkd.parse.python_names import is_operators, key_of
from torchtalkd.parse.python_outline import Outline

_HELD: Final = re.compile(
    rb"self\.([A-Za-z_]\w*)[ \t]*(?::[^=\n#]{1,80})?=[ \t]*([A-Za-z_][\w.]*)(?:\[[^\[\]\n]{1,80}\])?\("
)


def read_held(out: Outline) -> None:
    """Add the file's references of kind `holds`; none where the callee's name means nothing here."""
    data, definitions = out.data, out.definitions
    line, reached = 1, 0
    for match in _HELD.finditer(data):
        start = match.start()
        if start and data[start - 1 : start] not in (b" ", b"\t", b"\n", b";"):
            continue  # Part of a longer name: `myself.x`, `other.self.x`.
        owner = out.owners[bisect_right(out.changes, start) - 1]
        if definitions[owner].kind != "function":
            continue
        # The tree is asked last: that costs more than all the rest.
        name = out.resolve(match[2], owner)
        if not name or is_operators(name) or _in_text(out, start):
            continue
        line += data.count(b"\n", reached, start)
        reached = start
        column = start - data.rfind(b"\n", 0, start) - 1
        held = f"{match[1].decode()} = {name}"
        out.references.append(Reference(key_of(name), held, "holds", line, column, owner))


def _in_text(out: Outline, start: int) -> bool:
    """Whether a byte stands in a string or a comment."""
    node = out.root.descendant_for_byte_range(start, start + 1) if out.root is not None else None
    return node is not None and node.type in ("string", "string_content", "comment")
