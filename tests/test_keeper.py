"""`daemon.keeper`: what it has ready before anybody asks."""

from __future__ import annotations

import io
from pathlib import Path

from torchtalkd.daemon.keeper import _Keeper
from torchtalkd.engine import Limits
from torchtalkd.engine.engine import reading_of

YAML = "aten/src/ATen/native/native_functions.yaml"


def test_the_worker_at_hand_is_the_one_that_reads_a_save(mini_tree: Path, tmp_path: Path) -> None:
    keeper = _Keeper(io.StringIO())
    request = {
        "do": "build",
        "root": str(mini_tree),
        "harness": "pytorch",
        "named": True,
        "folder": str(tmp_path / "index"),
        "since": 0,
        "again": [],
        "workers": 1,
        "verify": False,
    }
    try:
        assert "built" in keeper.served({**request, "paths": None})
        assert keeper._cold is not None
        root, conventions = keeper._cold
        keeper.warm()
        keeper.read_ahead()
        reading = reading_of(root, conventions)
        worker = keeper._spare.take(reading, Limits())
        assert worker is not None
        keeper._spare.give(worker, reading, Limits(), 0)
        for n in range(2):
            with (mini_tree / YAML).open("ab") as file:
                file.write(b"- func: fresh_%d(Tensor self) -> Tensor\n" % n)
            done = keeper.served({**request, "paths": [YAML]})
            assert done["built"]["parsed"] == 1, done
            again = keeper._spare.take(reading, Limits())
            assert again is not None
            assert again.process.pid == worker.process.pid
            keeper._spare.give(again, reading, Limits(), 0)
        # Once is enough.
        assert keeper._unread is None
        assert keeper._cold is None
    finally:
        keeper._spare.close()
