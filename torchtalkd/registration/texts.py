"""The texts that are put into a project. They lie in the clients' package, `clients` in the repository."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path


def texts(folder: str) -> dict[str, str]:
    """The files of a folder of the clients' package, by name. Raises FileNotFoundError."""
    spec = find_spec("torchtalkd_clients")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    # A checkout that is run as it stands has the package under its folder's name.
    places.append(str(Path(__file__).parents[2] / "clients"))
    for place in places:
        if (found := Path(place) / folder).is_dir():
            return {file.name: file.read_text("utf-8") for file in sorted(found.iterdir()) if file.is_file()}
    raise FileNotFoundError(f"the installed package lacks its folder {folder}")
