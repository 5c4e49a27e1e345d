"""What a dispatch key is called: the names that c10/core/DispatchKey.h gives to one key."""

from __future__ import annotations

from typing import Final

from torchtalkd.facts import Rules

ALIASES: Final = {
    "Autocast": "AutocastCUDA",
    "CPUTensorId": "CPU",
    "CUDATensorId": "CUDA",
    "DefaultBackend": "CompositeExplicitAutograd",
    "PrivateUse1_PreAutograd": "AutogradPrivateUse1",
    "PrivateUse2_PreAutograd": "AutogradPrivateUse2",
    "PrivateUse3_PreAutograd": "AutogradPrivateUse3",
    "Math": "CompositeImplicitAutograd",
}
"""Names of another key, for older code (the end of `enum class DispatchKey`); `Math` is what
CompositeImplicitAutograd was called until 1.9."""


def canonical(dispatch_key: str, rules: Rules) -> str:
    """The key's own name. `CatchAll`, which m.def with a function registers for, is the default
    key of the rules (aten/src/ATen/core/dispatch/OperatorEntry.cpp `registerKernel`)."""
    if dispatch_key == "CatchAll":
        return rules.default_dispatch
    return ALIASES.get(dispatch_key, dispatch_key)
