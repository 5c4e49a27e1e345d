"""Where are CUDA's headers, and what is libclang told of a `.cu` file?

A toolkit's if there is one, else those of NVIDIA's Python packages, which `pip install 'torchtalkd[cuda]'`
brings and an installed PyTorch for CUDA has, too. Only the host's side is read: the bodies of kernels are in
it, and no device library is needed. Looks at the disk, and runs nothing: also `nvcc` is only looked for. The
tests are in `tests/test_compilation_machine.py`.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.compilation.installed import include_folder
from torchtalkd.compilation.plain_files import plain_bytes

_HEADERS: Final = {
    "cuda_runtime.h": "nvidia-cuda-runtime-cu12",
    "crt/host_config.h": "nvidia-cuda-nvcc-cu12",
    "cub/cub.cuh": "nvidia-cuda-cccl-cu12",
    "cublas_v2.h": "nvidia-cublas-cu12",
    "cusparse.h": "nvidia-cusparse-cu12",
    "cusolverDn.h": "nvidia-cusolver-cu12",
    "cufft.h": "nvidia-cufft-cu12",
    "curand.h": "nvidia-curand-cu12",
    "cudnn.h": "nvidia-cudnn-cu12",
}
"""A header of each library → the Python package that has it. pyproject's extra `cuda` lists these."""
_NEEDED: Final = ("cuda_runtime.h", "crt/host_config.h")
"""Without which no `.cu` file can be read."""
_NEWEST: Final = {18: 12}
"""libclang's release → the newest CUDA whose headers its own `__clang_cuda_runtime_wrapper.h` takes in."""
_ARCHITECTURE: Final = "sm_80"
_BOTH_SIDES: Final = Path(__file__).with_name("host_and_device.h")
ARGUMENTS: Final = (
    "--cuda-host-only",
    "-nocudalib",
    # The driver would look for a whole toolkit: the headers alone are named.
    "-nocudainc",
    f"--cuda-gpu-arch={_ARCHITECTURE}",
    *("-include", "__clang_cuda_runtime_wrapper.h"),
    *("-include", str(_BOTH_SIDES)),
)


class Cuda(NamedTuple):
    """CUDA's headers as they were found."""

    where: str
    """The toolkit's folder, or `Python packages`; '' where there are none."""
    version: str
    """`12.4`, as `cuda.h` says; '' where it does not."""
    folders: tuple[str, ...]
    """Include folders."""
    missing: tuple[str, ...]
    """Libraries whose headers are not there, by a header."""
    note: str = ""
    """What is not right with them, in a sentence."""

    @property
    def arguments(self) -> tuple[str, ...]:
        """What libclang is told of each `.cu` file."""
        return ARGUMENTS if self.where else ()


NONE: Final = Cuda("", "", (), tuple(_HEADERS))


def cuda(sites: tuple[str, ...], environ: Mapping[str, str], libclang: int = 0) -> Cuda:
    """The headers to use: a toolkit's, unless libclang does not know its release and the packages have one
    that it knows."""
    packages = _of_packages(sites)
    newest = _NEWEST.get(libclang, 0)
    for toolkit in _toolkits(environ):
        found = _of_toolkit(toolkit)
        if found is None:
            continue
        if newest and _major(found.version) > newest and packages.where:
            return packages
        if newest and _major(found.version) > newest:
            found = found._replace(
                note=f"libclang {libclang} takes in CUDA's headers up to release {newest}:"
                " `pip install 'torchtalkd[cuda]'` brings some that fit"
            )
        return _completed(found, packages)
    return packages


def _toolkits(environ: Mapping[str, str]) -> Iterable[Path]:
    for variable in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):
        if os.path.isabs(environ.get(variable, "")):
            yield Path(environ[variable])
    nvcc = shutil.which("nvcc", path=environ.get("PATH", ""))
    if nvcc is not None:
        yield Path(os.path.realpath(nvcc)).parent.parent
    yield Path("/usr/local/cuda")
    yield Path("/opt/cuda")


def _of_toolkit(folder: Path) -> Cuda | None:
    tops = [folder / "include", *sorted(folder.glob("targets/*/include"))]
    folders = [str(top) for top in tops if (top / "cuda_runtime.h").is_file()][:1]
    if not folders:
        return None
    # Since release 13 the C++ libraries have a folder of their own.
    folders += [inner for inner in (f"{folders[0]}/cccl",) if os.path.isdir(inner)]
    missing = tuple(header for header in _HEADERS if not _has(folders, header))
    return Cuda(str(folder), _version(folders), tuple(folders), missing)


def _of_packages(sites: tuple[str, ...]) -> Cuda:
    found = {header: include_folder(name, header, sites) for header, name in _HEADERS.items()}
    folders = tuple(dict.fromkeys(folder for folder in found.values() if folder))
    if any(not found[header] for header in _NEEDED):
        return NONE
    missing = tuple(header for header, folder in found.items() if not folder)
    return Cuda("Python packages", _version(folders), folders, missing)


def _completed(toolkit: Cuda, packages: Cuda) -> Cuda:
    """A toolkit with the libraries that it lacks, of the same release, from the packages."""
    if not toolkit.missing or _major(toolkit.version) != _major(packages.version):
        return toolkit
    missing = tuple(header for header in toolkit.missing if header in packages.missing)
    # They come last, so that only what the toolkit has not is taken from them.
    return toolkit._replace(folders=(*toolkit.folders, *packages.folders), missing=missing)


def _has(folders: Iterable[str], header: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, header)) for folder in folders)


def _version(folders: Iterable[str]) -> str:
    for folder in folders:
        text = plain_bytes(os.path.join(folder, "cuda.h"), 5_000_000)
        if text and (found := re.search(rb"#define\s+CUDA_VERSION\s+(\d+)", text)):
            number = int(found.group(1))
            return f"{number // 1000}.{number % 1000 // 10}"
    return ""


def _major(version: str) -> int:
    return int(version.partition(".")[0] or 0)
