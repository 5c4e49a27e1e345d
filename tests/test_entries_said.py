"""`parse.entries_said`: what was read before makes a yaml file quicker to read, and changes nothing."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import Rules
from torchtalkd.parse import entries_said
from torchtalkd.parse.op_schema import parse_op_schema

CONVENTIONS = Conventions("test", 1, rules=Rules(python_modules={"nn": "torch._C._nn"}))

ENTRIES = {
    "native_functions": [
        "- func: mix(Tensor self) -> Tensor\n  dispatch:\n    CPU: mix_cpu\n  autogen: mix.out\n  lines: 3\n",
        "- func: cut.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  variants: method, function\n",
        "- func: glow(Tensor self\n  shine: [1]\n  shine: 2\n",
        "- func: [\n",
        "stray\n",
        "# a comment\n\n",
    ],
    "derivatives": [
        "- name: mix(Tensor self) -> Tensor\n  self: mix_backward(grad)\n",
        "- name: cut(Tensor self) -> Tensor\n"
        "  dispatch:\n    Default:\n      self: one(grad)\n    CUDA:\n      self: two(grad)\n",
        "- name: glow(Tensor self) -> Tensor\n  self: |\n    first(grad)\n    + second(grad)\n",
        "- name: 3\n",
        "# a comment\n",
    ],
    "tags": [
        "- tag: one\n  lines: first\n",
        "- tag: two\n  desc: |\n    long\n    text\n",
        "- desc: none\n",
        "\n",
    ],
}


@given(data=st.data(), language=st.sampled_from(sorted(ENTRIES)))
def test_what_was_read_before_changes_nothing(data: st.DataObject, language: str) -> None:
    texts = data.draw(st.lists(st.lists(st.sampled_from(ENTRIES[language])), min_size=2, max_size=4))
    files = ["".join(text).encode() for text in texts]
    remembered = [parse_op_schema("a.yaml", file, CONVENTIONS, language, "library") for file in files]
    for file, facts in zip(files, remembered, strict=True):
        entries_said._files.clear()
        assert facts == parse_op_schema("a.yaml", file, CONVENTIONS, language, "library")


def test_entries_are_read_again_where_conventions_or_language_are_others() -> None:
    text = b"- func: glow(Tensor self) -> Tensor\n"
    first = parse_op_schema("a.yaml", text, CONVENTIONS, "native_functions", "library")
    assert parse_op_schema("a.yaml", text, CONVENTIONS, "tags", "library").definitions == ()
    rules = replace(CONVENTIONS.rules, operator_namespace="other")
    other = replace(CONVENTIONS, rules=rules)
    assert first.definitions[0].name == "aten::glow"
    again = parse_op_schema("a.yaml", text, other, "native_functions", "library")
    assert again.definitions[0].name == "other::glow"
    for n in range(9):
        parse_op_schema(f"{n}.yaml", text, CONVENTIONS, "native_functions", "library")
    assert len(entries_said._files) == entries_said.MOST_FILES
