"""native_functions.yaml, derivatives.yaml and tags.yaml → FileFacts.

The language of the three files is defined by torchgen/model.py (`NativeFunction.from_yaml`),
tools/autograd/load_derivatives.py and torchgen/gen.py (`parse_tags_yaml`). How the text is cut
is `parse/yaml_entries.py`; what an entry says is `parse/native_functions.py`,
`parse/derivatives.py` and, for tags, here. Tests: `tests/test_op_schema.py`.
"""

from __future__ import annotations

from torchtalkd import keys
from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import Definition, FileFacts
from torchtalkd.parse import yaml_entries
from torchtalkd.parse.derivatives import add_derivative
from torchtalkd.parse.entries_said import remember, said_before
from torchtalkd.parse.entry_facts import EntryFacts, Said
from torchtalkd.parse.native_functions import add_operator
from torchtalkd.parse.yaml_entries import Entry, Scalar


def parse_op_schema(path: str, data: bytes, conventions: Conventions, language: str, role: str) -> FileFacts:
    """All facts of a yaml file of operators, derivatives or tags.

    Pure; never raises for any bytes. An entry that cannot be read is a Problem and costs
    no other entry. An entry whose lines are those of the last time is not read again, wherever
    it stands now. `language` is native_functions, derivatives or tags.
    """
    text, spans, problems = yaml_entries.cut(data)
    facts = EntryFacts(text, conventions)
    facts.problems.extend(problems)
    add = _ADD[language]
    before = said_before(path, language, conventions)
    now: dict[str, Said] = {}
    for span in spans:
        lines = yaml_entries.lines_of(text, span)
        said = now.get(lines) or before.get(lines)
        if said is None:
            begin = facts.size()
            entry = yaml_entries.read(text, span, facts.problems)
            if entry is not None:
                add(facts, entry)
            now[lines] = facts.since(begin, span[0])
        else:
            now[lines] = facts.say(said, span[0])
    remember(path, language, conventions, now)
    facts.problems.sort(key=lambda problem: problem.line)
    return FileFacts(
        path,
        language,
        role,
        tuple(facts.definitions),
        tuple(facts.references),
        tuple(yaml_entries.limited(facts.problems)),
    )


def _add_tag(facts: EntryFacts, entry: Entry) -> None:
    """An entry of tags.yaml: `tag:` and `desc:`."""
    fields = facts.fields(entry, "tag", _TAG_FIELDS)
    name = fields.pop("tag", None)
    if not isinstance(name, Scalar) or not name.value:
        facts.problem(entry.line, "a tag needs a name: `- tag: name`")
        return
    line, column = facts.text.place(name)
    detail = {field: yaml_entries.value(node) for field, node in fields.items()}
    facts.definitions.append(
        Definition(
            keys.tag(name.value),
            name.value,
            "tag",
            line,
            column,
            entry.end_line,
            convention="tags",
            detail=detail or None,
        )
    )


_TAG_FIELDS = frozenset(("tag", "desc"))
_ADD = {"native_functions": add_operator, "derivatives": add_derivative, "tags": _add_tag}
