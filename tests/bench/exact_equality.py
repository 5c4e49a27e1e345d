"""Do units mean the same with precompiled headers and skipped bodies as without?

    python -m tests.bench.exact_equality TREE --index DIR [--units 100] [--seed N] [--workers 2]

`DIR` is the folder of an index whose headers were generated; precompiled headers that are missing are made
there. Each sampled unit is read both ways. What is compared are the resolved references, by enclosing
function, place, kind and target (its name, its digest and its place). Each difference is listed with its
cause. CPU times are printed, too; units that lack a header are counted apart and together with the others, as
each way recovers from the errors of that in its own manner. Then the index is asked for each function and
each edge within the tree that the plain parses show: what it lacks is listed.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torchtalkd.compilation import commands, made_folder
from torchtalkd.compilation.made import is_unit
from torchtalkd.conventions import load
from torchtalkd.engine.exact_closure import generated_headers
from torchtalkd.engine.exact_known import Known, known
from torchtalkd.engine.exact_pool import Pool, Task
from torchtalkd.engine.exact_precompiled import written
from torchtalkd.engine.exact_queue import Queue, Subject
from torchtalkd.engine.exact_stale import Item, Stale
from torchtalkd.engine.exact_store import unit_of
from torchtalkd.parse.exact import recipe, version
from torchtalkd.readings import ExactUnit
from torchtalkd.store.database import open_view
from torchtalkd.store.view import View

_COUNTED = re.compile(r"_\d+$")
"""The end of a name that a macro may have made by __COUNTER__, which a preamble does not carry on. Nobody
writes such a name; the facts are joined by their lines."""


def main() -> None:
    """Reads both ways, and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--harness", default="pytorch")
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--units", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--kinds", default="cpp")
    parser.add_argument("--within", default="", help="of paths that begin so")
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    tree, folder = options.tree.resolve(), options.index
    conventions = load(options.harness, tree=tree)
    made = made_folder(folder)
    with open_view(folder) as view:
        paths = [file.path for file in view.files() if is_unit(conventions, file.path)]
        told = commands(tree, conventions, made, paths=paths)
        now = known(view, told, str(tree), str(made), generated_headers(made.resolve(), made), recipe(), None)
    kinds = {unit.path: unit.kind for unit in told.units}
    candidates = [
        path
        for path, wanted in sorted(now.wanted.items())
        if not wanted.header and kinds[path] in options.kinds.split(",") and path.startswith(options.within)
    ]
    sample = random.Random(options.seed).sample(candidates, min(options.units, len(candidates)))
    print(f"seed {options.seed}: {len(sample)} of {len(candidates)} units", flush=True)
    with Pool(options.workers, seconds=600) as pool:
        shared, plain = _both(pool, now, folder, sample)
    _compare(sample, shared, plain)
    with open_view(folder) as view:
        _found(view, sample, plain)


Answers = dict[str, dict[str, Any]]


def _both(pool: Pool, now: Known, folder: Path, sample: list[str]) -> tuple[Answers, Answers]:
    """Each unit's answers: with precompiled headers as these are chosen, and without any."""
    queue = Queue(folder, version())
    everything = {
        path: Item(wanted, now.revision, "", "", 0)
        for path, wanted in now.wanted.items()
        if not wanted.header
    }
    queue.renew(now, Stale(everything, frozenset(), {}, []), 0)
    shared: Answers = {}
    plain: Answers = {}

    def done(task: Task, answer: dict[str, Any]) -> None:
        subject: Subject = task.subject
        if subject.kind == "precompile":
            assert subject.header is not None
            errors = answer.get("errors", [])
            bad = any(not error[3] for error in errors)
            if "failed" in answer:
                subject.header.state = "failed"
            elif not (bad and queue.failed_header(subject.header, errors)):
                written(subject.header, errors)
            return
        answers = shared if "precompiled" in task.request or subject.again else plain
        answers[subject.items[0].wanted.path] = answer
        path = subject.items[0].wanted.path
        print(f"  {len(shared)} and {len(plain)} read: {path} {answer.get('seconds', 0):.2f} s", flush=True)

    waiting = [everything[path] for path in sample]
    tasks: list[Task] = []

    def next_task(urgent: bool) -> Task | None:
        if urgent:
            return None
        if (task := queue.next_precompiled()) is not None:
            return task
        if not any(one.state == "building" for one in queue.precompiled or ()):
            while waiting:
                task = queue.task_of(waiting.pop())
                bare = {name: value for name, value in task.request.items() if name != "precompiled"}
                bare["whole"] = True
                # `again` tells a unit that no precompiled header serves from one that is read plainly.
                tasks.append(Task(task.request, task.subject._replace(again=True)))
                tasks.append(Task(bare, task.subject))
        return tasks.pop() if tasks else None

    while len(shared) < len(sample) or len(plain) < len(sample):
        pool.turn(next_task, done, 1.0)
    return shared, plain


def _compare(sample: list[str], shared: Answers, plain: Answers) -> None:
    counts: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
    for path in sample:
        one, other = shared[path], plain[path]
        if "failed" in one or "failed" in other:
            print(f"  {path}: {one.get('failed', '')} {other.get('failed', '')}")
            continue
        mine, theirs = (set(_references(unit_of(answer["units"][0]))) for answer in (one, other))
        lacks = any(error[3] for error in other["errors"])
        counts[lacks].update(units=1, total=len(theirs), missing=len(theirs - mine), extra=len(mine - theirs))
        for word, some in (("missing", theirs - mine), ("extra", mine - theirs)):
            for reference in sorted(some)[:20]:
                print(f"  {path}: {word} {reference}{_cause(path, reference[1], one, other)}")
        errors = [len([e for e in answer["errors"] if not e[3]]) for answer in (one, other)]
        if errors[0] != errors[1]:
            print(f"  {path}: {errors[0]} errors, {errors[1]} when read plainly")
    told = {
        "without a missing header": counts[False],
        "with a missing header": counts[True],
        "in all": counts[False] + counts[True],
    }
    for which, found in told.items():
        share = 100 * (1 - (found["missing"] + found["extra"]) / max(1, found["total"]))
        print(
            f"{found['units']} units {which}, {found['total']} references: {found['missing']} missing,"
            f" {found['extra']} extra; {share:.3f} % equal"
        )
    for word, answers in (("with precompiled headers", shared), ("plainly", plain)):
        seconds = sorted(answers[path].get("seconds", 0.0) for path in sample)
        peak = max(answers[path].get("peak", 0) for path in sample) // 1024
        print(
            f"CPU s of a unit {word}: mean {statistics.mean(seconds):.2f},"
            f" p50 {seconds[len(seconds) // 2]:.2f}, p90 {seconds[len(seconds) * 9 // 10]:.2f},"
            f" most {seconds[-1]:.2f}; memory at most {peak} MB"
        )
    again = sum(bool(shared[path].get("plain")) for path in sample)
    print(f"{again} units were read once more, because a precompiled header may have made an error")


def _cause(path: str, line: int, one: dict[str, Any], other: dict[str, Any]) -> str:
    """Why a line is understood otherwise: the errors that only one of the readings has there, else the last
    one before, behind which the plain reading lost its way."""
    mine, theirs = ([tuple(error) for error in answer["errors"]] for answer in (one, other))
    there = sorted(error for error in {*mine} ^ {*theirs} if error[:2] == (path, line))
    for error in there:
        return f" as {'the plain reading' if error in theirs else 'it'} has an error there: {error[2]}"
    return f" behind {theirs[-1][0]}:{theirs[-1][1]}: {theirs[-1][2]}" if theirs else ""


def _found(view: View, sample: list[str], plain: Answers) -> None:
    """How much of what the plain parses show the index has: functions with bodies, and edges from these to
    functions of the tree."""
    bodies = edges = 0
    lost_bodies, lost_edges = [], []
    for path in sample:
        file = view.file(path)
        if file is None or "failed" in plain[path]:
            continue
        unit = unit_of(plain[path]["units"][0])
        there = [d for d in view.definitions_in(file) if d.fact.body]
        for body in unit.bodies:
            if "(" not in body.signature:
                continue  # A variable's initializer.
            bodies += 1
            around = [d for d in there if d.fact.line <= body.line <= d.fact.end_line]
            known = [reference for d in around for reference in view.exact_in(d) or ()]
            if not any(view.exact_in(d) is not None for d in around):
                lost_bodies.append(f"{path}:{body.line} {body.name}")
            places = {(one.line, one.column) for one in known if one.path}
            for kind, line, column, target in body.sites:
                if unit.targets[target].path and kind != "overrides":
                    edges += 1
                    if (line, column) not in places:
                        lost_edges.append(f"{path}:{line}:{column} {body.name} > {unit.targets[target].name}")
    for what, total, lost in (("functions", bodies, lost_bodies), ("edges", edges, lost_edges)):
        share = 100 * (total - len(lost)) / max(1, total)
        print(f"{what} that the plain parses show: {total}, in the index {share:.2f} %")
        for one in lost[:20]:
            print(f"  {one}")


def _references(unit: ExactUnit) -> Iterator[tuple[str, int, int, str, str, int, str, int]]:
    for body in unit.bodies:
        for kind, line, column, target in body.sites:
            meant = unit.targets[target]
            name = _COUNTED.sub("", meant.name)
            usr = meant.usr if name == meant.name else 0
            yield _COUNTED.sub("", body.name), line, column, kind, name, usr, meant.path, meant.line


if __name__ == "__main__":
    main()
