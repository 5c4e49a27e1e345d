"""Views for tests, without an engine: sources or hand-written facts in a database in memory."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict
from functools import lru_cache
from importlib import resources

from torchtalkd.conventions import Conventions, load
from torchtalkd.facts import FileFacts, Rules
from torchtalkd.link import test_functions, test_ids
from torchtalkd.parse import parse
from torchtalkd.store.rows import pack
from torchtalkd.store.view import View


def view_of(*files: FileFacts, rules: Rules | None = None, meta: Mapping[str, str] | None = None) -> View:
    """A view at these files' facts, at revision 1 of a complete index."""
    database = sqlite3.connect(":memory:", isolation_level=None)
    database.executescript(resources.files("torchtalkd.store").joinpath("schema.sql").read_text())
    for number, facts in enumerate(files, 1):
        record = (number, facts.path, facts.language, facts.role, 0, 0, 0, 0, 0, "", "", 1)
        database.execute("INSERT INTO file VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", record)
        rows = pack(number, facts)
        for table, found in zip(("definition", "target", "reference", "problem"), rows, strict=True):
            for row in found:
                marks = ",".join("?" * len(row))
                database.execute(f"INSERT INTO {table} VALUES ({marks})", row)
    database.executescript(resources.files("torchtalkd.store").joinpath("indexes.sql").read_text())
    said = {"revision": "1", "complete": "1", **(meta or {})}
    if rules is not None:
        said["rules"] = json.dumps(asdict(rules))
    database.executemany("INSERT OR REPLACE INTO meta VALUES (?,?)", said.items())
    return View(database)


@lru_cache
def harness(name: str = "pytorch") -> Conventions:
    """The conventions of a harness, read once."""
    return load(name)


def view_of_sources(sources: Mapping[str, str], name: str = "pytorch") -> View:
    """A view at sources, given by path, as the parsers read them with a harness."""
    conventions = harness(name)
    facts = [parse(path, text.encode(), conventions) for path, text in sources.items()]
    return view_of(*facts, rules=conventions.rules)


def ids_in(view: View, function: str) -> test_ids.TestIds:
    """The ids of the first test of a name."""
    for file in view.files():
        for test in test_functions.tests_in(view, file):
            if test.name == function:
                return test_ids.ids_of(view, test)
    raise LookupError(function)
