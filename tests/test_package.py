"""The package as it is installed: every file that the program needs is in it, by its installed name.

Needs an installation (`pip install -e .` or a wheel); in a bare checkout these tests are skipped.
"""

from __future__ import annotations

import importlib
from importlib import metadata, resources

import pytest

from tests.conftest import DEMO_TREE, REPOSITORY
from torchtalkd import __version__


@pytest.fixture(scope="module", autouse=True)
def installed() -> metadata.Distribution:
    for found in metadata.distributions(name="torchtalkd"):
        # An egg-info folder that a build left in the checkout has no installer.
        if found.read_text("INSTALLER"):
            return found
    pytest.skip("torchtalkd is not installed here: pip install -e .")


def test_both_names_start_the_same_program(installed: metadata.Distribution) -> None:
    scripts = {
        point.name: point.value for point in installed.entry_points if point.group == "console_scripts"
    }
    assert scripts == {"torchtalkd": "torchtalkd.cli:main", "torchtalk": "torchtalkd.cli:main"}


def test_the_version_is_the_package_s(installed: metadata.Distribution) -> None:
    assert installed.version == __version__


@pytest.mark.parametrize(
    ("package", "folder", "pattern"),
    [
        ("torchtalkd.compilation", "torchtalkd/compilation", "*.h"),
        ("torchtalkd.manifests", "manifests", "*.toml"),
        ("torchtalkd.integration", "tests/integration", "*.yml"),
        ("torchtalkd.store", "torchtalkd/store", "*.sql"),
        ("torchtalkd.parse", "torchtalkd/parse", "queries/*.scm"),
    ],
)
def test_data_is_found_by_its_installed_name(package: str, folder: str, pattern: str) -> None:
    wanted = [path.relative_to(REPOSITORY / folder) for path in (REPOSITORY / folder).glob(pattern)]
    assert wanted
    for path in wanted:
        assert resources.files(package).joinpath(*path.parts).is_file(), path


def test_the_demo_tree_is_whole() -> None:
    inside = resources.files("torchtalkd").joinpath("demo_tree")
    for path in DEMO_TREE.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert inside.joinpath(*path.relative_to(DEMO_TREE).parts).is_file(), path


def test_clients_have_a_name_of_their_own() -> None:
    assert importlib.import_module("torchtalkd_clients").__doc__
