"""Python, the libraries and git: are they there, and new enough?"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata

from torchtalkd import __version__
from torchtalkd.doctor.values import FIX, NOTE, OK, Finding, Place

_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:>=\s*([0-9.]+))?")


def versions(place: Place) -> Iterator[Finding]:
    """One finding for all that is in order, one for each thing that is not."""
    python = ".".join(map(str, sys.version_info[:3]))
    found = [f"torchtalkd {__version__}", f"Python {python}"]
    for name, least in required():
        try:
            have = metadata.version(name)
        except metadata.PackageNotFoundError:
            yield Finding("versions", FIX, f"the library {name} is not installed", _install(name, least))
            continue
        if least and _numbers(have) < _numbers(least):
            said = f"the library {name} is {have}, {least} or later is needed"
            yield Finding("versions", FIX, said, _install(name, least))
        else:
            found.append(f"{name} {have}")
    yield Finding("versions", OK, ", ".join(found))
    if shutil.which("git", path=place.environ.get("PATH")) is None:
        said = "there is no git: commits and work trees are not known, and each question is a sweep"
        yield Finding("versions", NOTE, said, "install git")


def required() -> list[tuple[str, str]]:
    """(library, least version) as the installed package says; [] for a checkout that is not installed."""
    try:
        said = metadata.requires("torchtalkd") or []
    except metadata.PackageNotFoundError:
        return []
    plain = [text for text in said if "extra ==" not in text]
    return [(m[1], m[2] or "") for text in plain if (m := _REQUIREMENT.match(text))]


def _install(name: str, least: str) -> str:
    return f"{sys.executable} -m pip install '{name}{f'>={least}' if least else ''}'"


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version.partition("+")[0])[:3]]
