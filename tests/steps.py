"""What editors, git and people do to a tree, as steps with two numbers each.

A *step* is a name in `STEPS` and two numbers that choose among what is there (which file, which
byte), so a list of steps is a history that can be repeated, shortened and printed.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.histories import MANIFESTS, PLACES, SNIPPETS, World, save_text


def append(world: World, a: int, b: int) -> None:
    path = world.file(a)
    world.write(path, world.read(path) + SNIPPETS[b % len(SNIPPETS)])


def cut(world: World, a: int, b: int) -> None:
    path = world.file(a)
    data = world.read(path)
    world.write(path, data[: b % (len(data) + 1)])


def shuffle(world: World, a: int, b: int) -> None:
    path = world.file(a)
    lines = world.read(path).splitlines(keepends=True)
    random.Random(b).shuffle(lines)
    world.write(path, b"".join(lines))


def insert_line(world: World, a: int, b: int) -> None:
    path = world.file(a)
    lines = world.read(path).splitlines(keepends=True)
    lines.insert(b % (len(lines) + 1), SNIPPETS[b % len(SNIPPETS)])
    world.write(path, b"".join(lines))


def drop_line(world: World, a: int, b: int) -> None:
    path = world.file(a)
    lines = world.read(path).splitlines(keepends=True)
    if lines:
        del lines[b % len(lines)]
        world.write(path, b"".join(lines))


def save(world: World, a: int, b: int) -> None:
    """A changed text, in each of the ways in which programs save."""
    path = world.file(a)
    save_text(world.root / path, world.read(path) + SNIPPETS[b // 4 % len(SNIPPETS)], b % 4)
    world.heard(path)


def same_size(world: World, a: int, b: int) -> None:
    """Other bytes of the same number, with the mtime that was there before."""
    path = world.file(a)
    data = bytearray(world.read(path))
    found = os.stat(world.root / path)
    if data:
        data[b % len(data)] ^= 1
        with (world.root / path).open("r+b") as file:
            file.write(data)
        os.utime(world.root / path, ns=(found.st_atime_ns, found.st_mtime_ns))
        world.heard(path)


def touch(world: World, a: int, b: int) -> None:
    path = world.file(a)
    if b % 2:
        os.utime(world.root / path)
    else:
        world.write(path, world.read(path))
    world.heard(path)


def rename(world: World, a: int, b: int) -> None:
    path = world.file(a)
    whole = Path(path)
    suffix = (whole.suffix, ".py", ".cu", ".cpp", ".txt")[b // 3 % 5]
    world.move(path, whole.with_name(f"{whole.stem}{b % 3}{suffix}").as_posix())


def rename_over(world: World, a: int, b: int) -> None:
    path, over = world.file(a), world.file(b)
    os.replace(world.root / path, world.root / over)
    world.heard(path, over)


def change_case(world: World, a: int, b: int) -> None:
    path = world.file(a)
    world.move(path, Path(path).with_name(Path(path).name.swapcase()).as_posix())


def delete(world: World, a: int, b: int) -> None:
    path = world.file(a)
    (world.root / path).unlink()
    world.heard(path)


def create(world: World, a: int, b: int) -> None:
    world.write(PLACES[a % len(PLACES)], SNIPPETS[b % len(SNIPPETS)])


def create_edit_delete(world: World, a: int, b: int) -> None:
    create(world, a, 2)
    create(world, a, b)
    path = world.root / PLACES[a % len(PLACES)]
    if path.is_file():
        path.unlink()


def move_folder(world: World, a: int, b: int) -> None:
    folders = world.folders()
    if folders:
        path = folders[a % len(folders)]
        into = ["", *(folder + "/" for folder in folders)][b % (len(folders) + 1)]
        world.count += 1
        world.move(path, f"{into}moved{world.count}" if b % 2 else into + Path(path).name.upper())


def move_out(world: World, a: int, b: int) -> None:
    folders = world.folders()
    if folders:
        path = folders[a % len(folders)]
        world.count += 1
        os.rename(world.root / path, world.aside / f"{world.count}")
        world.heard(path)


def move_in(world: World, a: int, b: int) -> None:
    """What was moved out, or a folder that is new with its files."""
    outside = sorted(path for path in world.aside.iterdir() if path.is_dir())
    if not outside:
        new = world.aside / "new" / "er"
        new.mkdir(parents=True)
        (new / "in.cpp").write_bytes(SNIPPETS[2])
        (new.parent / "in.py").write_bytes(SNIPPETS[7])
        outside = [new.parent]
    source = outside[a % len(outside)]
    to = ("moved_in", "torch/nn", "aten/src/ATen/native/cpu", "build/inside")[b % 4]
    if not os.path.lexists(world.root / to) and (world.root / to).parent.is_dir():
        os.rename(source, world.root / to)
        world.heard(to)


def delete_folder(world: World, a: int, b: int) -> None:
    folders = world.folders()
    if folders:
        path = folders[a % len(folders)]
        shutil.rmtree(world.root / path)
        world.heard(path)


def link(world: World, a: int, b: int) -> None:
    """A symbolic link: to a file, to nothing, out of the tree, to itself, to a folder, to or through
    another link."""
    (world.aside / "secret.py").write_bytes(b"def secret(): ...\n")
    file = world.root / world.file(b // 10)
    targets = (
        *(str(file), os.path.relpath(file, world.root / "torch"), "nowhere.py"),
        *(str(world.aside / "secret.py"), str(world.aside), str(world.root), "nn"),
        *("link", "link.py", "link/functional.py"),
    )
    path = ("torch/link.py", "torch/link.cpp", "torch/link")[a % 3]
    whole = world.root / path
    if whole.parent.is_dir() and not (os.path.lexists(whole) and not whole.is_symlink()):
        whole.unlink(missing_ok=True)
        whole.symlink_to(targets[b % len(targets)])
        world.heard(path)


def swap_kind(world: World, a: int, b: int) -> None:
    """A file becomes a folder, with a file in it, or a pipe."""
    path = world.file(a)
    (world.root / path).unlink()
    if b % 3:
        world.write(f"{path}/inner.py", SNIPPETS[7])
    else:
        os.mkfifo(world.root / path)
    world.heard(path)


def shut(world: World, a: int, b: int) -> None:
    """Takes all permissions from a file or a folder."""
    paths = world.folders() if b % 2 else world.files()
    if paths and not world.shut:
        path = paths[a % len(paths)]
        os.chmod(world.root / path, 0)
        world.shut.add(path)
        world.heard(path)


def reopen(world: World, a: int, b: int) -> None:
    world.open()


def manifest(world: World, a: int, b: int) -> None:
    which = b % (len(MANIFESTS) + 1)
    if which == len(MANIFESTS):
        (world.root / ".torchtalk.toml").unlink(missing_ok=True)
        world.heard(".torchtalk.toml")
    else:
        world.write(".torchtalk.toml", MANIFESTS[which])


def revert(world: World, a: int, b: int) -> None:
    world.git("checkout", "-q", "-f", "--", ".")


def switch(world: World, a: int, b: int) -> None:
    world.git("checkout", "-q", "-f", ("other", "main", "HEAD~1")[b % 3])


def commit(world: World, a: int, b: int) -> None:
    world.git("add", "-A")
    world.git("commit", "-q", "--no-verify", "-m", "more")


def clean(world: World, a: int, b: int) -> None:
    world.git("clean", "-q", "-f", "-d", *(["-x"] if b % 2 else []))


def stash(world: World, a: int, b: int) -> None:
    world.git("stash", "-q", *(["pop"] if b % 2 else ["-u"]))


def reset(world: World, a: int, b: int) -> None:
    world.git("reset", "-q", "--hard", ("HEAD", "other", "main")[b % 3])


STEPS: Final[dict[str, Callable[[World, int, int], None]]] = {
    step.__name__: step
    for step in (
        *(append, cut, shuffle, insert_line, drop_line, save, same_size, touch),
        *(rename, rename_over, change_case, delete, create, create_edit_delete),
        *(move_folder, move_out, move_in, delete_folder, link, swap_kind, shut, reopen, manifest),
        *(revert, switch, commit, clean, stash, reset),
    )
}
