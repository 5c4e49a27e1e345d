"""Which registrations does a build have? Build profiles are manifest data (`[[link.builds]]`)."""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import Final

from torchtalkd.facts import Build, Rules

ALL: Final = "all"
"""The name that stands for no build: everything that the source has, each with its guards."""


class UnknownBuild(ValueError):
    """No build of that name; says which there are."""


def build_named(rules: Rules, name: str = "") -> Build | None:
    """The build of a name, the default one without; None for `all`, and where a manifest describes
    none. Raises UnknownBuild."""
    if name == ALL:
        return None
    known = {build.name: build for build in rules.builds}
    if not name:
        return next((build for build in known.values() if build.default), None)
    if name not in known:
        raise UnknownBuild(f"no build is called {name!r}: {', '.join((*known, ALL))}")
    return known[name]


def has_file(build: Build | None, path: str) -> bool:
    """Whether a file is compiled, or loaded by importing the framework."""
    return build is None or _without(build.without).fullmatch(path) is None


def has_guarded(build: Build | None, guard: str) -> bool:
    """Whether what stands within `#if` conditions (joined by ` && `) is there, as far as undefined
    macros say it."""
    if build is None or not guard:
        return True
    return not any(_DEFINED.sub(r"\1", term.strip()) in build.undefined for term in guard.split("&&"))


_DEFINED: Final = re.compile(r"defined\s*\(\s*(\w+)\s*\)")


@lru_cache(maxsize=32)
def _without(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{translate(pattern)})" for pattern in patterns) or r"(?!)")
