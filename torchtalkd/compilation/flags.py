"""Which flags of a compiler may libclang be told, and how are they spelled there?

A compile_commands.json is data from strangers, and libclang honours flags that write files or load code. So
what is told is what is listed here, and nothing else: folders to look for headers in, macros, the standard,
the language, a header that is taken in first if it is the tree's own, and the few `-f` and `-m` flags that
change what a text means. Anything else is left out, and so is each value that follows it, as it is not on
the list itself. The tests are in `tests/test_compilation_flags.py`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from torchtalkd.compilation.plain_files import is_readable_kind, is_within
from torchtalkd.compilation.values import Kind

_FOLDERS: Final = {
    "-isystem": "-isystem",
    "--system-include": "-isystem",
    "-iquote": "-iquote",
    "-I": "-I",
    "--include-path": "-I",
    "--include-directory": "-I",
}
_MACROS: Final = {"-D": "-D", "--define-macro": "-D", "-U": "-U", "--undefine-macro": "-U"}
_FIRST: Final = ("-include", "--include", "--pre-include")
_STANDARD: Final = re.compile(r"(?:c|gnu)(?:\+\+)?(?:\d[\dxyzab])")
_LANGUAGES: Final[dict[str, Kind]] = {
    "c++": "cpp",
    "c": "c",
    "cuda": "cuda",
    "cu": "cuda",
    "objective-c++": "objcpp",
}
_MEANING: Final = re.compile(
    r"-f(?:no-)?(?:exceptions|rtti|char8_t|signed-char|unsigned-char|short-wchar|short-enums|openmp|openmp-simd"
    r"|coroutines|aligned-allocation|aligned-new|sized-deallocation|ms-extensions|gnu-keywords|fast-math"
    r"|finite-math-only|math-errno|trapping-math|blocks|permissive|builtin|pic|PIC|pie|PIE|objc-arc)"
    r"|-f(?:template-depth|constexpr-depth)[=-]\d{1,4}"
    r"|-fconstexpr-steps=\d{1,8}"
    r"|-m(?:no-)?(?:sse\d?(?:\.\d|a)?|ssse3|avx\w{0,12}|amx-\w{2,12}|fma4?|f16c|bmi2?|popcnt|lzcnt|aes|pclmul|sha"
    r"|adx|movbe|rdrnd|vsx|altivec|zvector|power\d{1,2}-vector|32|64)"
    r"|-m(?:arch|cpu|fpu|float-abi|abi|vx|sve-vector-bits)=[\w.+-]{1,80}"
    r"|-pthread|-ansi"
)
"""Flags that change how a text is read: which macros are predefined, which words are keywords, which
intrinsics there are. None of them names a file."""
_TO_THE_HOST: Final = ("-Xcompiler", "--compiler-options")
"""nvcc's: a list of flags, with commas, for the compiler of the host."""
_TAKE_A_VALUE: Final = frozenset(
    {
        *("-o", "-MF", "-MT", "-MQ", "-MJ", "-L", "-l", "-T", "-u", "-z", "-e", "-arch", "-target"),
        *(
            "-Xclang",
            "-Xlinker",
            "-Xassembler",
            "-Xpreprocessor",
            "-load",
            "-mllvm",
            "-isysroot",
            "--sysroot",
        ),
        *("-imacros", "-include-pch", "-idirafter", "-iprefix", "-iwithprefix", "-dumpbase", "-aux-info"),
        *("-serialize-diagnostics", "--serialize-diagnostics", "--config", "--output-file"),
        *("-ccbin", "--compiler-bindir", "-gencode", "--generate-code", "--gpu-architecture", "--gpu-code"),
        *("-code", "-Xptxas", "-Xnvlink", "-Xfatbin", "-Xcudafe"),
    }
)
"""Flags that are left out whose value may look like a flag."""
_BY_ITSELF: Final = ("/usr/include", "/usr/local/include")
"""Folders that a compiler looks into by itself, in their turn. Named, they would come before the C++
library's, whose `#include_next` then finds nothing."""
MOST_FLAGS: Final = 10_000
MOST_LETTERS: Final = 4_000
"""Of one flag."""


class Translated(NamedTuple):
    """The flags of one call."""

    arguments: tuple[str, ...]
    """For libclang, paths absolute."""
    kind: Kind | None
    """The language that the call names, None where the file's ending decides."""
    refused: tuple[str, ...]
    """Why some were left out that would have mattered, as sentences without a subject."""


def translated(flags: Sequence[str], folder: str, roots: Iterable[Path]) -> Translated:
    """The flags of a call of a compiler made in `folder`, its name and its file left out already. A file that
    is taken in first must lie in one of the resolved `roots`. Asks the disk what kind of file a path is."""
    made: list[str] = []
    kind: Kind | None = None
    refused: list[str] = []
    inside = tuple(roots)
    waiting = list(reversed(flags[:MOST_FLAGS]))
    if len(flags) > MOST_FLAGS:
        refused.append(f"has more than {MOST_FLAGS:,} flags")
    while waiting:
        flag = waiting.pop()
        if len(flag) > MOST_LETTERS or "\0" in flag or not flag.isprintable():
            continue
        if flag.startswith("@") or flag in ("-optf", "--options-file"):
            refused.append("has a response file, which is not read")
            continue
        if (host := _valued(flag, _TO_THE_HOST, waiting)) is not None:
            waiting += reversed(host.split(","))
        elif (first := _valued(flag, _FIRST, waiting)) is not None:
            path = os.path.realpath(os.path.join(folder, first))
            if any(is_within(path, root) for root in inside) and os.path.isfile(path):
                made += ["-include", path]
            else:
                refused.append("takes in a file first that is not one of the tree's")
        elif (name := _named(flag, _FOLDERS)) and (value := _valued(flag, (name,), waiting)) is not None:
            path = os.path.normpath(os.path.join(folder, value))
            if path in _BY_ITSELF or not value:
                continue
            if os.path.lexists(path) and not (is_readable_kind(path) and os.path.isdir(path)):
                refused.append("looks for headers in what is no folder")
                continue
            made += [f"-I{path}"] if _FOLDERS[name] == "-I" else [_FOLDERS[name], path]
        elif (name := _named(flag, _MACROS)) and (value := _valued(flag, (name,), waiting)) is not None:
            if re.match(r"[A-Za-z_]", value):
                made.append(_MACROS[name] + value)
        elif (value := _valued(flag, ("-std", "--std"), waiting)) is not None:
            made += [f"-std={value}"] if _STANDARD.fullmatch(value) else []
        elif (value := _valued(flag, ("-x", "--x"), waiting)) is not None:
            kind = _LANGUAGES.get(value, kind)
        elif _MEANING.fullmatch(flag):
            made.append(flag.replace("-depth-", "-depth="))
        elif flag in _TAKE_A_VALUE and waiting:
            waiting.pop()
    return Translated(tuple(made), kind, tuple(dict.fromkeys(refused)))


def allowed(flags: Iterable[str], root: Path) -> tuple[str, ...]:
    """The flags of a manifest, which may be a stranger's, too."""
    return translated(tuple(flags), str(root), (root,)).arguments


def _named(flag: str, table: Iterable[str]) -> str:
    """The longest name of the table with which a flag begins."""
    return max((name for name in table if flag.startswith(name)), key=len, default="")


def _valued(flag: str, names: Iterable[str], waiting: list[str]) -> str | None:
    """The value of a flag of one of these names, joined, joined by `=`, or the next word, which is taken from
    `waiting`; None for another flag."""
    for name in names:
        if flag == name:
            return waiting.pop() if waiting else ""
        if flag.startswith(name + "=") and name not in ("-D", "-U"):
            return flag[len(name) + 1 :]
        if flag.startswith(name) and not name.startswith("--") and name in _JOINED:
            return flag[len(name) :]
    return None


_JOINED: Final = frozenset({"-I", "-D", "-U", "-isystem", "-iquote", "-include", "-x"})
"""Names that a value may follow without anything between."""
