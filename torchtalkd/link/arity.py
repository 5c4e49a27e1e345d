"""Can a function be called with so many arguments? What tells overloads apart where types are not known."""

from __future__ import annotations

from collections.abc import Sequence

from torchtalkd.facts import FiledDefinition
from torchtalkd.link import overload


def of_arity(found: Sequence[FiledDefinition], arguments: int) -> list[FiledDefinition]:
    """Those that can take so many arguments; all, where none can or the number is not known."""
    if arguments < 0 or len(found) < 2:
        return list(found)
    return [definition for definition in found if takes(definition, arguments)] or list(found)


def takes(definition: FiledDefinition, arguments: int) -> bool:
    """Whether a function can take so many arguments, by its parameter list; -1: their number is not known."""
    signature = definition.fact.signature
    if arguments < 0 or "..." in signature:
        return True
    count = len(overload.parameter_types(signature))
    return count - signature.count("=") <= arguments <= count
