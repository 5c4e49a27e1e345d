"""The program in which a generator of a tree runs: it gives up what that does not need, then runs it.

    python -I -S fence.py LIMITS MODULE ARGUMENTS…

LIMITS is a JSON object: `seconds` of CPU time, `bytes` of memory, `file_bytes` of a file, `write`: the only
folders it may write to, `python`: the only folders, besides the standard library, it may import from. On
Linux the kernel is asked (Landlock) to refuse writes elsewhere, other programs and the network; where it
cannot, the limits hold all the same. Standard library only; nothing of this package is imported, so that a
generator finds none of it. The tests are in `tests/test_generated.py`.
"""

import ctypes
import json
import os
import resource
import runpy
import struct
import sys

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""The system calls of Landlock, on every machine: https://docs.kernel.org/userspace-api/landlock.html"""
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_FIRST_RIGHTS = (1 << 13) - 1
_MORE_RIGHTS = {2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
"""Kinds of access that later versions of Landlock know besides: refer, truncate, device controls."""
_NETWORK_FROM = 4
_NO_NEW_PRIVILEGES = 38


def main(arguments: list[str]) -> None:
    """Runs the module as `python -m` would, in what is left."""
    limits, module, *rest = arguments
    wanted = json.loads(limits)
    limit(wanted)
    confine(wanted["write"])
    sys.path = [path for path in sys.path if path] + wanted["python"]
    sys.dont_write_bytecode = True
    sys.argv = [module, *rest]
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def limit(wanted: dict[str, int]) -> None:
    """Hard limits: the process cannot raise them again."""
    for kind, most in (
        (resource.RLIMIT_CPU, wanted["seconds"]),
        (resource.RLIMIT_AS, wanted["bytes"]),
        (resource.RLIMIT_FSIZE, wanted["file_bytes"]),
        (resource.RLIMIT_NOFILE, 256),
        (resource.RLIMIT_CORE, 0),
    ):
        hard = resource.getrlimit(kind)[1]
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (most, most))
        except (ValueError, OSError):
            continue  # macOS knows no limit of the address space; the time is bounded all the same.


def confine(write: list[str]) -> bool:
    """From here on the kernel refuses to write outside the folders, to run programs, and to use TCP. False
    where it cannot: not Linux, or an old one, or one without Landlock."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    if version < 1:
        return False
    rights = _FIRST_RIGHTS & ~(_READ_FILE | _READ_DIR)
    for since, right in _MORE_RIGHTS.items():
        rights |= right if version >= since else 0
    attributes = struct.pack("=QQ", rights, 3) if version >= _NETWORK_FROM else struct.pack("=Q", rights)
    ruleset = libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0)
    if ruleset < 0:
        return False
    for folder in write:
        descriptor = os.open(folder, os.O_PATH | os.O_CLOEXEC)
        rule = struct.pack("=Qi", rights & ~_EXECUTE, descriptor)
        refused = libc.syscall(_ADD_RULE, ruleset, 1, rule, 0)
        os.close(descriptor)
        if refused:
            raise OSError(ctypes.get_errno(), f"Landlock does not take {folder}")
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.syscall(_RESTRICT_SELF, ruleset, 0):
        return False
    os.close(ruleset)
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
