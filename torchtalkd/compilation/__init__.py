"""How a C++ file is compiled, without a build.

`commands` gives the translation units of a tree with their arguments for libclang, from a
compile_commands.json or, without one, from the manifest; `machine` says what the machine has for it,
`made_folder` where headers are made, `generate` makes those of a trusted tree, `leading_to_special` says
which files include what must not be opened. No compiler is ever run. `docs/exact.md` tells the user.
"""

from torchtalkd.compilation.commands import commands
from torchtalkd.compilation.generated import generate, standing
from torchtalkd.compilation.machine import Machine, machine
from torchtalkd.compilation.made import include_folders
from torchtalkd.compilation.special_files import leading_to_special
from torchtalkd.compilation.values import Commands, Found, Unit, made_folder

__all__ = [
    "Commands",
    "Found",
    "Machine",
    "Unit",
    "commands",
    "generate",
    "include_folders",
    "leading_to_special",
    "machine",
    "made_folder",
    "standing",
]
