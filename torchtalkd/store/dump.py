"""All facts of a store as text, the same for any history that led to them.

The test of the incremental engine compares the dump after edits with that of a fresh build.
So it shows no ids, no stats, no revision, and nothing of the order in which files were read.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator

from torchtalkd.store.view import View


def dump(view: View, paths: Collection[str] | None = None) -> Iterator[str]:
    """One line a fact: the files by path, and under each its definitions with their targets,
    its other references by place, its problems. `paths`: of these files alone. Read-only."""
    yield f"rules {json.dumps(json.loads(view.meta('rules', '{}')), sort_keys=True)}"
    problems: dict[str, list[str]] = {}
    for path, problem in view.problems(limit=-1):
        problems.setdefault(path, []).append(f"  problem {problem.line} {problem.kind} {problem.message!r}")
    for file in view.files():
        if paths is not None and file.path not in paths:
            continue
        yield f"file {file.path} {file.language} {file.role} {file.digest}"
        definitions = view.definitions_in(file)
        for ordinal, definition in enumerate(definitions):
            yield f"  definition {ordinal} {tuple(definition.fact)!r}"
            for target in view.targets(definition):
                fact = target.fact
                yield f"    target {fact.kind} {fact.key} {fact.name} {fact.line}:{fact.column}"
        first = definitions[0].id if definitions else 0
        for found in view.references_in(file):
            owner = found.owner - first if found.owner >= 0 else -1
            yield f"  reference {owner} {tuple(found.fact)[:5]!r} {found.fact.arguments}"
        yield from sorted(problems.get(file.path, ()))
