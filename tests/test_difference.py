"""`store.difference`: a file's rows become what a fresh store has, with few writes."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from torchtalkd.facts import Definition, FileFacts, Reference
from torchtalkd.store.database import open_view, open_writer
from torchtalkd.store.difference import _TABLES
from torchtalkd.store.dump import dump
from torchtalkd.store.rows import pack
from torchtalkd.store.writer import FileRecord

NAMES = st.sampled_from(("f", "g", "h", "bad\udc80"))
LINES = st.integers(1, 3)
DEFINITIONS = st.lists(
    st.builds(
        lambda name, line, kind: Definition(f"cpp:{name}", name, kind, line, 0, line),
        NAMES,
        LINES,
        st.sampled_from(("function", "registration", "stub")),
    ),
    max_size=6,
)
REFERENCES = st.lists(
    st.builds(
        lambda name, line, kind, owner: Reference(f"cpp:{name}", name, kind, line, 0, owner),
        NAMES,
        LINES,
        st.sampled_from(("call", "target")),
        st.integers(-1, 5),
    ),
    max_size=6,
)
TEXTS = st.tuples(DEFINITIONS, REFERENCES).map(
    lambda both: FileFacts(
        "a.cpp",
        "cpp",
        "library",
        tuple(both[0]),
        tuple(r._replace(owner=min(r.owner, len(both[0]) - 1)) for r in both[1]),
    )
)
OTHER = FileFacts("b.cpp", "cpp", "library", (Definition("cpp:other", "other", "function", 1, 0, 1),))


def write(folder: Path, *texts: FileFacts) -> list[str]:
    """The dump after a file had these texts, one after the other, beside a file that stays."""
    with open_writer(folder, Path("/tree")) as writer:
        for n, facts in enumerate(texts):
            changed = [
                (
                    FileRecord(number, found.path, "cpp", "library", 1, 2, 3, 4, 5, "d", "r"),
                    pack(number, found),
                )
                for number, found in ((1, facts), (2, OTHER))[: 1 if n else 2]
            ]
            writer.replace(changed, (), {"complete": "1"})
    with open_view(folder) as view:
        for key in ("cpp:f", "cpp:g", "cpp:h", "cpp:bad"):
            # By the index, which must have followed.
            assert [d.fact.key for d in view.definitions(key)] == [key] * len(view.definitions(key))
            assert {r.fact.key for r in (*view.targeting(key), *view.references(key))} <= {key}
        return list(dump(view)) + sorted(view.keys_of_kind("stub"))


@settings(max_examples=150, deadline=None)
@given(st.lists(TEXTS, min_size=2, max_size=4))
def test_any_history_of_a_files_rows_ends_as_a_fresh_store(texts: list[FileFacts]) -> None:
    with TemporaryDirectory() as name:
        assert write(Path(name) / "living", *texts) == write(Path(name) / "fresh", texts[-1])
        with open_writer(Path(name) / "living", Path("/tree"), verify=True) as writer:
            assert writer.notes == []


def test_the_columns_are_those_of_the_schema(tmp_path: Path) -> None:
    write(tmp_path, FileFacts("a.cpp", "cpp", "library"))
    with open_view(tmp_path) as view:
        for table in _TABLES:
            columns = view._db.execute(f"PRAGMA table_info({table.name})").fetchall()
            assert tuple(column[1] for column in columns) == table.columns
            indexed = {
                name
                for index in view._db.execute(f"PRAGMA index_list({table.name})").fetchall()
                for _, _, name in view._db.execute(f"PRAGMA index_info({index[1]})").fetchall()
            }
            assert indexed == set(table.indexed)


def test_a_row_more_or_a_few_lines_further_down_writes_little(tmp_path: Path) -> None:
    many = [Definition(f"cpp:f{n}", f"f{n}", "function", n, 0, n) for n in range(200)]
    facts = FileFacts("a.cpp", "cpp", "library", tuple(many))
    with open_writer(tmp_path, Path("/tree")) as writer:

        def written(found: FileFacts) -> tuple[int, list[str]]:
            assert writer._db is not None
            before, said = writer._db.total_changes, []
            writer._db.set_trace_callback(said.append)
            record = FileRecord(1, "a.cpp", "cpp", "library", 1, 2, 3, 4, 5, "d", "r")
            writer.replace([(record, pack(1, found))], (), {})
            writer._db.set_trace_callback(None)
            return writer._db.total_changes - before, said

        record = FileRecord(1, "a.cpp", "cpp", "library", 1, 2, 3, 4, 5, "d", "r")
        others = [(record._replace(id=n, path=f"{n}.cpp"), pack(n, OTHER)) for n in range(2, 9)]
        writer.replace([(record, pack(1, facts)), *others], (), {})
        more = FileFacts("a.cpp", "cpp", "library", (*many, OTHER.definitions[0]))
        assert written(more)[0] < 12
        down = tuple(d._replace(line=d.line + 1) for d in many)
        count, said = written(FileFacts("a.cpp", "cpp", "library", down))
        assert 200 <= count < 215
        assert not any(text.startswith("INSERT INTO definition") for text in said)
