"""Which lines of a manifest would read registrations of a spelling, where its shape is known? Pure.

A proposal is a guess from the spelling alone, to be looked at. So are minimums, from what is there.
The tests are in `tests/test_sites.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final

from torchtalkd.harness.values import Site

_KEYS: Final = ("CUDA", "HIP", "MPS", "XPU", "HPU", "MTIA", "XLA", "CPU", "PRIVATEUSE1")
_KINDS: Final = (
    # how a function that registers is called → what it makes
    (r"fake|meta|abstract", "meta"),
    (r"decomp", "decomposition"),
    (r"lowering", "lowering"),
    (r"vmap|batch", "batching_rule"),
    (r"autograd|backward", "autograd_function"),
    (r"onnx|symbolic", "onnx"),
    (r"custom_op", "registration"),
)
_TEXT = re.compile(r"""(?:(\w+)=)?(['"])(.*)\2""")
_DOTTED = re.compile(r"(?:(\w+)=)?(?:torch\.ops\.|aten\.|prims\.)[\w.]+")
_NAME = re.compile(r"(?:(\w+)=)?[A-Za-z_][\w.]*")


COUNTED: Final = (
    "operator",
    "schema",
    "registration",
    "python_binding",
    "kernel",
    "stub_kernel",
    "autograd_function",
    "meta",
)
"""Kinds that minimums are proposed for: bindings, and the kernels that they end in."""


def minimums(counts: Mapping[str, int]) -> str:
    """TOML that expects nine tenths of what there is of each kind that binds; '' where there is nothing."""
    rows = [f"{kind} = {counts[kind] * 9 // 10 or 1}" for kind in COUNTED if counts.get(kind)]
    return "\n".join(["[expected_minimums]", *rows]) + "\n" if rows else ""


def proposal(sites: Sequence[Site]) -> str:
    """TOML for the sites of one form and name, '' where no known shape fits them."""
    first = sites[0]
    if first.form == "library":
        return _library(first)
    if first.form == "macro":
        return _macro(sites)
    if first.form in ("decorator", "call"):
        return _python(first)
    return ""


def _library(site: Site) -> str:
    count = len(site.arguments)
    if "_MODULE" in site.name:
        return _shape(site.name, "pybind11", {"form": "module"}) if count in (2, 3) else ""
    form = "impl" if "_IMPL" in site.name else "fragment" if "_FRAGMENT" in site.name else "def"
    return _shape(site.name, "torch_library", {"form": form}) if count == (3 if form == "impl" else 2) else ""


def _macro(sites: Sequence[Site]) -> str:
    name = sites[0].name
    pairs = all(len(s.arguments) == 2 and re.fullmatch(r"[\w:]+", s.arguments[0]) for s in sites)
    given = all(s.arguments[1].startswith("&") or s.arguments[1].endswith("kernel") for s in sites if pairs)
    if not pairs or not (given or "DISPATCH" in name):
        return ""
    key = next((one for one in _KEYS if one in name.split("_")), "")
    key = {"PRIVATEUSE1": "PrivateUse1"}.get(key, key)
    return _shape(name, "dispatch_stub", {"form": "register"}, key)


def _shape(name: str, shape: str, options: dict[str, str], key: str = "") -> str:
    written = ", ".join(f"{field} = {json.dumps(value)}" for field, value in options.items())
    for_key = f', dispatch_key = "{key}"' if key else ""
    row = f'{{ name = "{name}", shape = "{shape}"{for_key}, options = {{ {written} }} }}'
    return f"[cpp]\nshapes = [\n  {row},\n]\n"


def _python(site: Site) -> str:
    kind = next((kind for pattern, kind in _KINDS if re.search(pattern, site.name.lower())), "")
    if not kind and any("::" in argument for argument in site.arguments):
        kind = "registration"
    operand = next(
        (
            (n, match)
            for n, argument in enumerate(site.arguments)
            if (match := _TEXT.fullmatch(argument) or _DOTTED.fullmatch(argument))
        ),
        None,
    )
    if not kind or operand is None:
        return ""
    position, match = operand
    lines = [
        "[[python.bindings]]",
        f'id = "{site.name.strip("_")}"',
        f'call = "{site.name}"',
        f'kind = "{kind}"',
        f"operand = {_argument(position, match)}",
    ]
    if site.form == "call":
        target = next(
            (
                (n, found)
                for n, argument in enumerate(site.arguments)
                if n != position and (found := _NAME.fullmatch(argument))
            ),
            None,
        )
        if target is not None:
            lines.append(f"target = {_argument(*target)}")
        elif ")(" not in site.text:
            return ""
    if match.re is _TEXT and "::" not in match.group(3):
        lines.append('prefix = "NAMESPACE::"  # of the operators')
    return "\n".join(lines) + "\n"


def _argument(position: int, match: re.Match[str]) -> str:
    return f'"{match.group(1)}"' if match.group(1) else str(position)
