"""What reading C++ exactly needs: libclang's own headers, a C++ library, generated headers.

Without it everything works by name, so nothing here has to be fixed but what a user has asked for: trust
that no longer holds, a generator that failed.
"""

from __future__ import annotations

from collections.abc import Iterator

from torchtalkd.cache import index_folder
from torchtalkd.compilation import machine, made_folder
from torchtalkd.compilation.generated import Standing, standing
from torchtalkd.config import ConfigError, read_config
from torchtalkd.conventions import ManifestError, conventions_of
from torchtalkd.doctor.values import FIX, NOTE, OK, Finding, Place
from torchtalkd.roots import Root, RootError, choose_root


def compiling(place: Place) -> Iterator[Finding]:
    """Of the tree that is meant here."""
    try:
        config = read_config(place.environ)
        root = choose_root(place.source, place.harness, environ=place.environ, cwd=place.cwd, config=config)
        conventions = conventions_of(root.path, root.harness, named=root.named)
    except (ConfigError, RootError, ManifestError):
        # What is wrong with the tree is told with the trees.
        return
    found = machine(root.path, conventions, place.environ)
    if found.off:
        sentence, _, command = found.off.partition(": ")
        yield Finding("compiling", NOTE, f"C++ is read by name only: {sentence}", command.strip("`"))
        return
    made = made_folder(index_folder(root.path, place.environ))
    headers = standing(root.path, conventions, made, config.trusted.get(str(root.path), ""))
    yield Finding("compiling", OK, f"libclang {found.libclang}, {found.builtin}, {found.library.folder}")
    if headers.sentence or headers.state == "outdated":
        yield _headers(root, headers)


def _headers(root: Root, headers: Standing) -> Finding:
    trust = f"torchtalkd trust {root.path}"
    if headers.state == "failed":
        said = f"generating headers of {root.path} failed: {headers.sentence}"
        return Finding("compiling", FIX, said, f"torchtalkd status --compile --source {root.path}; {trust}")
    if headers.state == "changed":
        said = f"what generates the headers of {root.path} is not what was trusted"
        return Finding("compiling", FIX, said, trust)
    if headers.state == "outdated":
        return Finding("compiling", NOTE, f"headers of {root.path} are to be generated anew", trust)
    return Finding(
        "compiling",
        NOTE,
        f"without the generated headers of {root.path} less of its C++ is read exactly",
        trust,
    )
