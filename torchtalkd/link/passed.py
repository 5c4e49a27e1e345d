"""Can a call with these arguments mean this overload?

Python's argument parser (torch/csrc/utils/python_arg_parser.cpp) takes the first overload whose
parameters the arguments fit. Types are not known from a text, so numbers and names decide here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from torchtalkd.codegen.schema import Argument, SchemaError, parse_schema
from torchtalkd.spots import Passed


@lru_cache(maxsize=4096)
def fits(schema: str, passed: Passed, receiver: bool) -> bool:
    """Whether a schema's parameters can take the arguments; `receiver`: one more comes before them.

    A schema that cannot be read takes all.
    """
    try:
        parameters = parse_schema(schema).arguments
    except SchemaError:
        return True
    positional = [p for p in parameters if not p.keyword_only]
    named = {p.name for p in parameters} | {"input"}
    given = passed.positional + receiver
    if any(keyword not in named for keyword in passed.keywords):
        return False
    if given > len(positional) and not _is_spread(positional, receiver):
        return False
    if not passed.certain:
        return True
    taken = {"self" if keyword == "input" else keyword for keyword in passed.keywords}
    missing = [p for p in positional[given:] if p.default is None and p.name not in taken]
    keyword_only = [p for p in parameters if p.keyword_only and p.default is None and p.name not in taken]
    return not missing and not keyword_only


def _is_spread(positional: Sequence[Argument], receiver: bool) -> bool:
    """Whether the first parameter is a list of integers, which may be given one by one: view(2, 3)."""
    first = positional[1 if receiver else 0 :][:1] or positional[:1]
    return any(str(p.type).startswith(("int[", "SymInt[")) for p in first)
