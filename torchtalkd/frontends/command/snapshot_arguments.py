"""The arguments of the commands about snapshots. Imports next to nothing: any command line needs it."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable


def add_snapshots(
    command: Callable[..., ArgumentParser],
    *,
    query: Callable[[ArgumentParser], None],
    json: Callable[[ArgumentParser], None],
    positive: Callable[[str], int],
) -> None:
    """Adds them; `command` makes a command's parser, the others add what several commands have in common."""
    under = command("snapshot", "Save, load, compare and carry named copies of the index").add_subparsers(
        prog="torchtalkd snapshot",
        dest="part",
        required=True,
        metavar="save|load|list|delete|prune|diff|export|import",
    )

    def part(name: str, help: str) -> ArgumentParser:
        made = command(f"snapshot {name}", help, under=under)
        made.set_defaults(command=f"snapshot {name}")
        return made

    save = part("save", "Save the index under a name, in place of a snapshot of that name")
    save.add_argument("name", help="up to three parts: main/abc1234/v1")
    query(save)
    load = part("load", "Put a snapshot in place of the index, and read again what differs from the tree")
    load.add_argument("name", nargs="?")
    load.add_argument(
        "--nearest", action="store_true", help="that of the same content, commit or nearest ancestor"
    )
    load.add_argument("--force", action="store_true", help="also one that is of other code")
    query(load)
    json(part("list", "List the snapshots, with their sizes"))
    delete = part("delete", "Delete a snapshot")
    delete.add_argument("name")
    json(delete)
    prune = part("prune", "Delete all but the newest snapshots of each kind of tree")
    prune.add_argument("--keep", type=positive, required=True, metavar="N", help="how many stay")
    json(prune)
    diff = part(
        "diff", "Say what differs between two snapshots, in files and in operators, kernels and tests"
    )
    diff.add_argument("left", help="a snapshot, or `current`: the live index")
    diff.add_argument("right", help="the same")
    query(diff)
    export = part("export", "Write a snapshot into a file, for another machine")
    export.add_argument("name")
    export.add_argument("-o", "--output", metavar="FILE", help="(default: its name, in the current folder)")
    json(export)
    taken = part("import", "Take in a snapshot from a file")
    taken.add_argument("file", metavar="FILE")
    taken.add_argument("--name", metavar="NEW", help="what to call it here")
    json(taken)
