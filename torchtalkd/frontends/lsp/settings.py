"""What a user can set: `torchtalk.*` of the editor's configuration, or the initialization options."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Final, Literal, TypeAlias, get_args

Definition: TypeAlias = Literal["source", "kernels", "yaml"]
_WAYS: Final = get_args(Definition)


@dataclass(frozen=True, slots=True)
class Switches:
    """What is answered at all; each can be left to another server."""

    definition: bool = True
    declaration: bool = True
    implementation: bool = True
    references: bool = True
    hover: bool = True
    documentSymbol: bool = True  # noqa: N815 - as users write it
    workspaceSymbol: bool = True  # noqa: N815
    callHierarchy: bool = True  # noqa: N815
    typeHierarchy: bool = True  # noqa: N815
    documentLink: bool = True  # noqa: N815
    diagnostics: bool = True
    codeLens: bool = False  # noqa: N815
    inlayHint: bool = False  # noqa: N815


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one editor."""

    definition: Definition = "source"
    """Where `definition` leads: the function that a user reads first, all kernels, or the schema."""
    python: bool = False
    """Whether names that are Python alone are answered, too: for editors without a server for Python."""
    candidates: bool = True
    """Whether a method of a receiver whose type is not known is answered, as a candidate."""
    features: Switches = field(default_factory=Switches)


def settings_of(found: Any, former: Settings | None = None) -> tuple[Settings, list[str]]:
    """Settings from a JSON value (with or without `torchtalk` around it), and sentences on what is
    wrong in it: that is left as it was."""
    settings = former or Settings()
    wrong: list[str] = []
    if isinstance(found, dict) and isinstance(found.get("torchtalk"), dict):
        found = found["torchtalk"]
    if not isinstance(found, dict):
        return settings, wrong
    if "definition" in found:
        if found["definition"] in _WAYS:
            settings = replace(settings, definition=found["definition"])
        else:
            wrong.append(f"torchtalk.definition must be one of {', '.join(_WAYS)}")
    for name in ("python", "candidates"):
        if name in found:
            if isinstance(found[name], bool):
                settings = replace(settings, **{name: found[name]})
            else:
                wrong.append(f"torchtalk.{name} must be true or false")
    given = found.get("features")
    if isinstance(given, dict):
        known = {f.name for f in fields(Switches)}
        good = {name: value for name, value in given.items() if name in known and isinstance(value, bool)}
        wrong.extend(f"torchtalk.features.{name} is not a switch" for name in given if name not in good)
        settings = replace(settings, features=replace(settings.features, **good))
    elif given is not None:
        wrong.append("torchtalk.features must be an object of switches")
    return settings, wrong
