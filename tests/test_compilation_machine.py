"""What is found on a machine: on small machines of the tests' own, below a folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from torchtalkd.compilation import builtin_headers as builtin
from torchtalkd.compilation import machine as found_machine
from torchtalkd.compilation.cuda import ARGUMENTS, cuda
from torchtalkd.compilation.installed import include_folder, site_folders
from torchtalkd.compilation.packages import outside_folders, packages
from torchtalkd.compilation.standard_library import standard_library
from torchtalkd.conventions import load
from torchtalkd.conventions.compiling import Package


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def distribution(site: Path, name: str, *files: str) -> None:
    touch(*(site / file for file in files))
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir(parents=True, exist_ok=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text("".join(f"{file},,\n" for file in files))


# -- Python packages


def test_a_header_of_an_installed_distribution_is_found_by_its_list(tmp_path: Path) -> None:
    distribution(tmp_path, "pybind11", "pybind11/__init__.py", "pybind11/include/pybind11/pybind11.h")
    sites = (str(tmp_path),)
    assert include_folder("pybind11", "pybind11/pybind11.h", sites) == str(tmp_path / "pybind11/include")
    assert include_folder("pybind11", "bind11.h", sites) == ""
    assert include_folder("absent", "a.h", sites) == ""
    (tmp_path / "pybind11/include/pybind11/pybind11.h").unlink()
    assert include_folder("pybind11", "pybind11/pybind11.h", sites) == ""


def test_the_users_own_environment_is_looked_into(tmp_path: Path) -> None:
    folder = tmp_path / "lib/python3.12/site-packages"
    folder.mkdir(parents=True)
    assert str(folder) in site_folders({"VIRTUAL_ENV": str(tmp_path)})
    assert str(folder) not in site_folders({"VIRTUAL_ENV": "relative"})


def test_packages_are_looked_for_in_the_tree_then_the_system_then_python(tmp_path: Path) -> None:
    root, system, site = tmp_path / "root", tmp_path / "system", tmp_path / "site"
    package = Package(
        "fmt",
        "fmt/format.h",
        ("third_party/fmt-*/include",),
        distribution="fmt",
        beside=("more",),
        install="get fmt",
    )
    eigen = Package("eigen", "Eigen/Core", system=("eigen3",))

    def where() -> list[tuple[str, str]]:
        wanted = packages(root, [package, eigen], (str(site),), (str(system),))
        return [(one.where, os.path.relpath(one.folder, tmp_path) if one.folder else "") for one in wanted]

    root.mkdir()
    assert where() == [("", ""), ("", "")]
    distribution(site, "fmt", "fmt/inc/fmt/format.h")
    touch(system / "eigen3/Eigen/Core")
    assert where() == [("python", "site/fmt/inc"), ("system", "system/eigen3")]
    touch(system / "fmt/format.h")
    assert where()[0] == ("system", "system")
    touch(root / "third_party/fmt-9/include/fmt/format.h")
    assert where()[0] == ("tree", "root/third_party/fmt-9/include")
    found = packages(root, [package], ())[0]
    assert found.install == "get fmt"
    assert outside_folders(package, found) == [found.folder, f"{found.folder}/more"]


# -- libclang's own headers


def test_builtin_headers_are_of_libclangs_release(tmp_path: Path) -> None:
    site, places = tmp_path / "site", [str(tmp_path / "lib/llvm-{major}/lib/clang"), str(tmp_path / "clang")]
    assert builtin.builtin_headers([str(site)], 18, places) is None
    touch(tmp_path / "clang/17/include/stddef.h", tmp_path / "clang/19.1.0/include/stddef.h")
    assert builtin.builtin_headers([str(site)], 18, places) is None
    assert builtin.builtin_headers([str(site)], 19, places) == tmp_path / "clang/19.1.0"
    touch(tmp_path / "lib/llvm-18/lib/clang/18/include/stddef.h")
    assert builtin.builtin_headers([str(site)], 18, places) == tmp_path / "lib/llvm-18/lib/clang/18"
    # The package that comes with this program goes before what happens to be there.
    distribution(site, "clang-tidy", "clang_tidy/data/lib/clang/18/include/stddef.h")
    assert builtin.builtin_headers([str(site)], 18, places) == site / "clang_tidy/data/lib/clang/18"
    assert builtin.builtin_headers([str(site)], 19, places) == tmp_path / "clang/19.1.0"
    assert builtin.builtin_headers([str(site)], 0, places) is None


def test_a_plain_install_has_them() -> None:
    major = builtin.libclang_major()
    assert major
    folder = builtin.builtin_headers(site_folders({}), major)
    assert folder is not None
    assert (folder / "include" / "immintrin.h").is_file()


# -- the C++ library


def test_the_gcc_that_has_a_cpp_library_is_named(tmp_path: Path) -> None:
    triple = f"{os.uname().machine}-linux-gnu"
    (tmp_path / f"usr/lib/gcc/{triple}/12").mkdir(parents=True)
    (tmp_path / f"usr/lib/gcc/{triple}/13").mkdir(parents=True)
    found = standard_library(tmp_path, "linux")
    assert (found.arguments, found.folder) == ((), "")
    assert found.install == (
        "there is no C++ standard library: install libstdc++-13-dev (Debian, Ubuntu) or gcc-c++ (Fedora)"
    )
    touch(tmp_path / "usr/include/c++/12/vector")
    found = standard_library(tmp_path, "linux")
    # clang by itself would take 13, and find nothing.
    assert found.arguments == (f"--gcc-install-dir={tmp_path}/usr/lib/gcc/{triple}/12",)
    assert (found.folder, found.install) == (str(tmp_path / "usr/include/c++/12"), "")
    touch(tmp_path / "usr/include/c++/13/vector")
    assert standard_library(tmp_path, "linux").arguments[0].endswith("/13")
    # A cross compiler's is not this machine's.
    touch(tmp_path / "usr/lib/gcc/other-linux-gnu/14/include/c++/vector")
    assert standard_library(tmp_path, "linux").arguments[0].endswith(f"{triple}/13")


def test_without_a_gcc_libcpp_serves_and_without_any_the_package_is_named(tmp_path: Path) -> None:
    assert "install g++" in standard_library(tmp_path, "linux").install
    touch(tmp_path / "usr/lib/llvm-18/include/c++/v1/vector")
    found = standard_library(tmp_path, "linux")
    assert found.arguments == ("-nostdinc++", "-isystem", str(tmp_path / "usr/lib/llvm-18/include/c++/v1"))
    assert "xcode-select --install" in standard_library(tmp_path, "darwin").install
    sdk = tmp_path / "Library/Developer/CommandLineTools/SDKs/MacOSX.sdk"
    touch(sdk / "usr/include/c++/v1/vector")
    assert standard_library(tmp_path, "darwin").arguments == ("-isysroot", str(sdk))


def test_what_is_lacking_turns_exact_reading_off_with_a_sentence(tmp_path: Path) -> None:
    whole = found_machine(tmp_path, load("torch-extension"), {})
    assert whole._replace(libclang=0).off == "libclang is not installed: `pip install libclang`"
    assert "clang-tidy==18.*" in whole._replace(libclang=18, builtin=None).off
    none = standard_library(tmp_path, "linux")
    assert whole._replace(builtin=tmp_path, library=none).off == none.install
    assert whole._replace(builtin=tmp_path, library=none._replace(install="")).off == ""


# -- CUDA


def toolkit(folder: Path, version: int, *headers: str) -> None:
    touch(*(folder / "include" / header for header in ("cuda_runtime.h", "crt/host_config.h", *headers)))
    (folder / "include" / "cuda.h").write_text(f"#define CUDA_VERSION {version}\n")


def nvidia(site: Path, version: int) -> None:
    distribution(
        site, "nvidia-cuda-runtime-cu12", "nvidia/rt/include/cuda_runtime.h", "nvidia/rt/include/cuda.h"
    )
    (site / "nvidia/rt/include/cuda.h").write_text(f"#define CUDA_VERSION {version}\n")
    distribution(site, "nvidia-cuda-nvcc-cu12", "nvidia/nvcc/include/crt/host_config.h")
    distribution(site, "nvidia-cublas-cu12", "nvidia/cublas/include/cublas_v2.h")


@pytest.fixture
def no_toolkit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine whose usual places have none."""
    is_file = Path.is_file
    monkeypatch.setattr(
        Path,
        "is_file",
        lambda path: not str(path).startswith(("/usr/local/cuda", "/opt/cuda")) and is_file(path),
    )


@pytest.mark.usefixtures("no_toolkit")
def test_cuda_of_a_toolkit(tmp_path: Path) -> None:
    assert cuda((), {}) == cuda((), {"CUDA_HOME": str(tmp_path)})
    assert (cuda((), {}).where, cuda((), {}).arguments) == ("", ())
    toolkit(tmp_path / "cuda", 12040, "cublas_v2.h")
    (tmp_path / "cuda/include/cccl").mkdir()
    found = cuda((), {"CUDA_HOME": str(tmp_path / "cuda")}, 18)
    assert (found.where, found.version, found.note) == (str(tmp_path / "cuda"), "12.4", "")
    assert found.folders == (f"{tmp_path}/cuda/include", f"{tmp_path}/cuda/include/cccl")
    assert "cublas_v2.h" not in found.missing
    assert "cudnn.h" in found.missing
    assert found.arguments == ARGUMENTS
    assert os.path.isfile(ARGUMENTS[-1])


@pytest.mark.usefixtures("no_toolkit")
def test_nvcc_is_looked_for_and_not_run(tmp_path: Path) -> None:
    toolkit(tmp_path / "cuda", 12010)
    nvcc = tmp_path / "cuda/bin/nvcc"
    touch(nvcc)
    nvcc.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    nvcc.chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/nvcc").symlink_to(nvcc)
    assert cuda((), {"PATH": str(tmp_path / "bin")}).version == "12.1"
    assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("no_toolkit")
def test_cuda_of_python_packages(tmp_path: Path) -> None:
    site = tmp_path / "site"
    nvidia(site, 12040)
    found = cuda((str(site),), {}, 18)
    assert (found.where, found.version) == ("Python packages", "12.4")
    assert [os.path.relpath(folder, site) for folder in found.folders] == [
        "nvidia/rt/include",
        "nvidia/nvcc/include",
        "nvidia/cublas/include",
    ]
    # A toolkit goes first and takes from them what it lacks, if they are of one release.
    toolkit(tmp_path / "cuda", 12010)
    environ = {"CUDA_HOME": str(tmp_path / "cuda")}
    both = cuda((str(site),), environ, 18)
    assert both.where == str(tmp_path / "cuda")
    assert both.folders == (f"{tmp_path}/cuda/include", *found.folders)
    assert "cublas_v2.h" not in both.missing
    # libclang 18 does not know CUDA 13: what fits it is used, where there is such.
    toolkit(tmp_path / "cuda", 13000)
    assert cuda((str(site),), environ, 18) == found
    assert "torchtalkd[cuda]" in cuda((), environ, 18).note
    assert cuda((str(site),), environ, 21).version == "13.0"


def test_the_extra_brings_what_is_looked_for() -> None:
    import tomllib

    from tests.conftest import REPOSITORY
    from torchtalkd.compilation.cuda import _HEADERS

    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))["project"]
    extra = project["optional-dependencies"]["cuda"]
    assert sorted(one.partition("=")[0].partition(">")[0] for one in extra) == sorted(_HEADERS.values())
    assert any(one.startswith("clang-tidy") for one in project["dependencies"])
