"""`parse_op_schema`: what each field of the yaml files becomes, and that damage stays where it is."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import Definition, FileFacts, Reference, Rules
from torchtalkd.parse import yaml_entries
from torchtalkd.parse.op_schema import parse_op_schema

CONVENTIONS = Conventions("test", 1, rules=Rules(python_modules={"nn": "torch._C._nn"}))


def parse(text: str | bytes, language: str = "native_functions") -> FileFacts:
    data = text.encode() if isinstance(text, str) else text
    return parse_op_schema("ops.yaml", data, CONVENTIONS, language, "library")


def of_kind(facts: FileFacts, kind: str) -> list[Definition]:
    return [d for d in facts.definitions if d.kind == kind]


def targets(facts: FileFacts, definition: Definition) -> list[Reference]:
    ordinal = facts.definitions.index(definition)
    return [r for r in facts.references if r.owner == ordinal]


MIX = """\
# What a mix is.

- func: mix.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  device_check: NoCheck   # TensorIterator
  structured_delegate: mix.out
  variants: function, method
  dispatch:
    SparseCPU, SparseCUDA: mix_sparse
    MkldnnCPU: other::native::mkldnn_mix
    # no more
  tags: [core, pointwise]

# Comments between belong to nobody.
- func: mix_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  variants: method
  autogen: mix.Tensor_out, mix_functional.Tensor
"""


def test_an_entry_is_an_operator_with_its_other_fields_as_detail() -> None:
    facts = parse(MIX)
    assert facts.problems == ()
    operator = of_kind(facts, "operator")[0]
    assert (operator.key, operator.name) == ("op:mix", "aten::mix.Tensor")
    assert (operator.line, operator.column, operator.end_line) == (3, 8, 11)
    assert operator.signature == "mix.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert operator.convention == "native_functions"
    assert operator.detail == {
        "device_check": "NoCheck",
        "structured_delegate": "mix.out",
        "variants": ["function", "method"],
        "tags": ["core", "pointwise"],
    }


def test_each_dispatch_key_is_a_registration_at_the_kernels_place() -> None:
    facts = parse(MIX)
    found = [r for r in of_kind(facts, "registration") if r.name == "aten::mix.Tensor"]
    assert [(r.dispatch_key, r.line, r.column, r.scope, r.key) for r in found] == [
        ("SparseCPU", 8, 27, 0, "op:mix"),
        ("SparseCUDA", 8, 27, 0, "op:mix"),
        ("MkldnnCPU", 9, 15, 0, "op:mix"),
    ]
    (target,) = targets(facts, found[2])
    assert target == Reference("cpp:mkldnn_mix", "other::native::mkldnn_mix", "target", 9, 15, target.owner)


def test_each_variant_is_a_python_name() -> None:
    facts = parse(
        MIX + "- func: glow(Tensor self) -> Tensor\n  python_module: nn\n- func: dim(Tensor self) -> int\n"
    )
    names = [(b.key, b.name, targets(facts, b)[0].name) for b in of_kind(facts, "python_binding")]
    assert names == [
        ("py:mix", "torch.mix", "aten::mix.Tensor"),
        ("py:mix", "torch.Tensor.mix", "aten::mix.Tensor"),
        ("py:mix_", "torch.Tensor.mix_", "aten::mix_.Tensor"),
        ("py:glow", "torch._C._nn.glow", "aten::glow"),
        ("py:dim", "torch.dim", "aten::dim"),
    ]


def test_autogen_names_are_operators_at_their_place_in_the_line() -> None:
    facts = parse(MIX)
    made = [d for d in of_kind(facts, "operator") if d.detail and "autogen_of" in d.detail]
    assert [(d.name, d.line, d.column, d.signature) for d in made] == [
        ("aten::mix.Tensor_out", 16, 11, ""),
        ("aten::mix_functional.Tensor", 16, 27, ""),
    ]
    assert made[0].detail == {"autogen_of": "aten::mix_.Tensor"}


@pytest.mark.parametrize(
    ("entry", "kernel"),
    [
        ("- func: glow(Tensor self) -> Tensor", "glow"),
        ("- func: glow_(Tensor(a!) self) -> Tensor(a!)", "glow_"),
        ("- func: glow.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "glow_out"),
        (
            "- func: glow.o(Tensor self, *, int k=0, Tensor(a!) x, Tensor(b!) y) -> (Tensor(a!), Tensor(b!))",
            "glow_out",
        ),
        ("- func: glow.into(Tensor self, *, Tensor(a!)[] out) -> ()", "glow_out"),
        ("- func: glow(Tensor self, SymInt[2] k, *, Dimname? n=None) -> Tensor\n  dispatch:", "glow"),
    ],
)
def test_an_entry_without_dispatch_has_one_implicit_composite_kernel(entry: str, kernel: str) -> None:
    facts = parse(entry)
    (registration,) = of_kind(facts, "registration")
    assert registration.dispatch_key == "CompositeImplicitAutograd"
    assert registration.detail == {"implicit": True}
    assert registration.line == 1
    assert [t.name for t in targets(facts, registration)] == [kernel]


@pytest.mark.parametrize(
    "field", ["structured_delegate: glow.out", "structured: True", "manual_kernel_registration: True"]
)
def test_no_implicit_kernel_where_torchgen_makes_none(field: str) -> None:
    assert of_kind(parse(f"- func: glow(Tensor self) -> Tensor\n  {field}\n"), "registration") == []


def test_a_ufunc_entry_has_loops_behind_a_generated_stub() -> None:
    facts = parse(
        "- func: mix.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)\n"
        "  structured: True\n"
        "  ufunc_inner_loop:\n"
        "    Generic: mix_loop (AllAndComplex, Half)\n"
        "    ScalarOnly: mix_bool (Bool)\n"
    )
    assert facts.problems == ()
    found = [
        (r.dispatch_key, r.line, [t.name for t in targets(facts, r)], r.detail)
        for r in of_kind(facts, "registration")
    ]
    stub = "at::native::mix_stub"
    assert found == [
        ("CPU", 4, ["ufunc::mix_loop", stub], {"ufunc": "Generic"}),
        ("CPU", 5, ["ufunc::mix_bool", stub], {"ufunc": "ScalarOnly"}),
        ("CUDA", 4, ["ufunc::mix_loop"], {"ufunc": "Generic"}),
        ("CUDA", 5, ["ufunc::mix_bool"], {"ufunc": "ScalarOnly"}),
    ]
    assert [(s.key, s.name) for s in of_kind(facts, "stub")] == [("cpp:mix_stub", stub)]
    kernels = [(k.dispatch_key, targets(facts, k)[0].key) for k in of_kind(facts, "stub_kernel")]
    assert kernels == [
        ("CPU", "cpp:mix_loop"),
        ("CPU", "cpp:mix_bool"),
        ("CUDA", "cpp:mix_loop"),
        ("CUDA", "cpp:mix_bool"),
    ]


def test_operators_of_another_namespace_keep_it_and_have_no_python_name() -> None:
    facts = parse("- func: custom::glow.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n")
    assert [d.name for d in facts.definitions] == ["custom::glow.out", "custom::glow.out"]
    assert [r.name for r in facts.references] == ["glow_out"]


def test_unknown_fields_are_kept_and_told() -> None:
    facts = parse("- func: glow(Tensor self) -> Tensor\n  shine: [1, {a: True}]\n")
    assert of_kind(facts, "operator")[0].detail == {"shine": [1, {"a": True}]}
    assert [(p.line, p.kind, p.message) for p in facts.problems] == [(2, "syntax", "unknown field `shine:`")]


def test_derivatives_hold_formulas_with_lines_and_the_functions_they_call() -> None:
    facts = parse(
        "- name: mix.Tensor(Tensor self, Tensor other) -> (Tensor, Tensor)\n"
        "  output_differentiability: [True, False]\n"
        '  self, other: \'grad.defined() ? mix_backward(grad, self.sizes(), "nope(x)")'
        " : std::tuple<Tensor, Tensor>()'\n"
        "  # a comment(x)\n"
        "  result: auto_linear\n"
        "- name: cut(Tensor self) -> Tensor\n"
        "  dispatch:\n"
        "    Default:\n"
        "      self: at::cut_back(grad)\n"
        "    AutogradNestedTensor:\n"
        "      self: nested_cut(\n"
        "          other_call(grad), x->method(1))\n",
        "derivatives",
    )
    assert facts.problems == ()
    mix, cut = facts.definitions
    assert (mix.key, mix.name, mix.line, mix.column, mix.kind, mix.end_line) == (
        "op:mix",
        "aten::mix.Tensor",
        1,
        8,
        "derivative",
        5,
    )
    assert mix.detail is not None
    assert mix.detail["output_differentiability"] == [True, False]
    assert list(mix.detail["formulas"]) == ["self, other", "result"]
    assert mix.detail["lines"] == {"self, other": 3, "result": 5}
    assert [(t.name, t.line, t.column) for t in targets(facts, mix)] == [
        ("mix_backward", 3, 33),
        ("std::tuple", 3, 79),
    ]
    assert cut.detail == {
        "formulas": {"self": "at::cut_back(grad)"},
        "lines": {"self": 9},
        "dispatch": {
            "Default": {"self": "at::cut_back(grad)"},
            "AutogradNestedTensor": {"self": "nested_cut( other_call(grad), x->method(1))"},
        },
        "dispatch_lines": {"Default": {"self": 9}, "AutogradNestedTensor": {"self": 11}},
    }
    assert [(t.key, t.line) for t in targets(facts, cut)] == [
        ("cpp:cut_back", 9),
        ("cpp:nested_cut", 11),
        ("cpp:other_call", 12),
    ]


def test_tags_have_descriptions() -> None:
    facts = parse("# tags\n- tag: shiny\n  desc: |\n    It\n    shines.\n- tag: dull\n", "tags")
    assert [(t.key, t.name, t.line, t.column, t.detail) for t in facts.definitions] == [
        ("tag:shiny", "shiny", 2, 7, {"desc": "It\nshines.\n"}),
        ("tag:dull", "dull", 6, 7, None),
    ]


GOOD = "- func: good(Tensor self) -> Tensor\n  dispatch:\n    CPU: good_cpu\n"


@pytest.mark.parametrize(
    "bad",
    [
        "- func: half(Tensor self",
        "- func: half",
        "- func",
        "-",
        "- func:",
        "- 12",
        "- [a, b]",
        "- func: bad(Tensor self) -> Tensor\n  dispatch\n    CPU: x",
        "- func: bad(Tensor self) -> Tensor\n\tdispatch:\n\t\tCPU: x",
        "- func: bad(Tensor self) -> Tensor\n  dispatch:\n    CPU: [a, b",
        "- func: bad(Tensor self) -> Tensor\n  dispatch:\n    CPU: 'a b'",
        '- func: "bad(Tensor self) -> Tensor\n  variants: method',
        "- func: bad(Tensor self) -> Tensor\n  variants: banana",
        "- func: bad(Tensor self) -> Tensor\n  func: bad(Tensor self) -> Tensor",
        "- &a [*a, *a]",
        "- a: &a [x, x]\n  b: &b [*a, *a]\n  func: *b",
        "- func: bad(Tensor self) -> Tensor\n  x: " + "[" * 5000,
        "- " * 5000,
        "- func: bad(Tensor self) -> Tensor\n  x: {" + "a: b, " * 20000 + "}",
        "- func: bad(Tensor self) -> Tensor\n  x: " + "y" * 60_000,
        "- func: bad(Tensor self) -> Tensor\n  x: \x01",
        "stray: text\n  dispatch:\n    CPU: x",
        "<<<<<<< HEAD",
        "- !!python/object/apply:os.system ['true']",
    ],
)
def test_a_bad_entry_is_a_problem_and_costs_itself_alone(bad: str) -> None:
    before = "- func: first(Tensor self) -> Tensor\n"
    facts = parse(f"{before}{bad}\n{GOOD}")
    assert facts.problems
    assert all(1 < p.line <= 1 + bad.count("\n") + 1 for p in facts.problems)
    assert "aten::first" in [d.name for d in facts.definitions]
    clean = parse(f"{before}{GOOD}")
    shift = bad.count("\n") + 1
    assert named(facts, "aten::good", -shift) == named(clean, "aten::good", 0)


def named(facts: FileFacts, operator: str, shift: int) -> list[tuple[Definition, list[Reference]]]:
    """What a file says of one operator, lines moved, ordinals left out."""
    return [
        (
            d._replace(line=d.line + shift, end_line=d.end_line + shift, scope=-1),
            [r._replace(line=r.line + shift, owner=-1) for r in targets(facts, d)],
        )
        for d in facts.definitions
        if d.name == operator
    ]


def test_an_entry_whose_dash_was_lost_leaves_the_one_above_it_alone() -> None:
    facts = parse(
        GOOD + "  func: bad(Tensor self) -> Tensor\n  python_module: nn\n" + GOOD.replace("good", "last")
    )
    assert [p.line for p in facts.problems] == [4]
    good = of_kind(facts, "operator")[0]
    assert good.name == "aten::good"
    assert good.detail is None
    assert of_kind(facts, "operator")[1].name == "aten::last"


def test_line_ends_marks_and_encodings() -> None:
    plain = parse(MIX)
    same = dataclasses.replace(parse(b"\xef\xbb\xbf" + MIX.replace("\n", "\r\n").encode()))
    assert same == plain
    assert parse(MIX.replace("\n", "\r")) == plain
    latin = parse(GOOD.encode().replace(b"- func", "# \xe9\n- func".encode("latin-1")))
    assert [(p.line, p.kind) for p in latin.problems] == [(1, "encoding")]
    assert len(latin.definitions) == 3
    wide = parse(GOOD.encode("utf-16"))
    assert [p.kind for p in wide.problems] == ["encoding"]
    assert len(wide.definitions) == 3
    assert parse(b"").definitions == parse("# only words\n\n").definitions == ()


def test_columns_are_bytes() -> None:
    facts = parse('- {note: "ü→", func: "good(Tensor self) -> Tensor", dispatch: {CPU: good_cpu}}\n')
    operator, _, registration = facts.definitions
    assert operator.column == 25
    assert registration.column == 71
    text = '- {note: "\udce9", func: "good(Tensor self) -> Tensor"}\n'.encode("utf-8", "surrogateescape")
    operator = parse(text).definitions[0]
    assert text[operator.column :].startswith(b"good(")


def test_a_list_may_be_indented_and_an_inner_list_is_no_entry() -> None:
    facts = parse(
        "operators:\n  - func: a(Tensor self) -> Tensor\n    tags:\n      - core\n"
        "  - func: b(Tensor self) -> Tensor\n"
    )
    assert [d.name for d in of_kind(facts, "operator")] == ["aten::a", "aten::b"]
    assert [p.line for p in facts.problems] == [1]


PIECES = (
    MIX.split("\n\n", 1)[1].rstrip("\n").split("\n\n")[0],
    "- func: glow.out(Tensor self, *, Tensor(a!) out) -> Tensor(a!)\n  structured: True\n"
    "  dispatch:\n    CPU: glow_cpu",
    GOOD.rstrip("\n"),
)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(PIECES) - 1), st.data())
def test_damage_inside_an_entry_leaves_the_others_as_they_are(hurt: int, data: st.DataObject) -> None:
    lines = PIECES[hurt].split("\n")
    what = data.draw(st.sampled_from(["cut", "shuffle", "garble"]))
    if what == "cut":
        text = PIECES[hurt][: data.draw(st.integers(2, len(PIECES[hurt])))]
    elif what == "shuffle":
        text = "\n".join([lines[0], *data.draw(st.permutations(lines[1:]))])
    else:
        number = data.draw(st.integers(0, len(lines) - 1))
        noise = data.draw(st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=20))
        lines[number] = ("- " if number == 0 else "  ") + noise
        text = "\n".join(lines)
    pieces = [*PIECES[:hurt], text, *PIECES[hurt + 1 :]]
    whole, damaged = parse("\n".join(PIECES)), parse("\n".join(pieces))
    moved = text.count("\n") - PIECES[hurt].count("\n")
    for number, name in enumerate(("aten::mix.Tensor", "aten::glow.out", "aten::good")):
        if number != hurt:
            assert named(damaged, name, -moved if number > hurt else 0) == named(whole, name, 0)


@settings(max_examples=150, deadline=None)
@given(st.data(), st.sampled_from(["native_functions", "derivatives", "tags"]))
def test_no_bytes_raise(data: st.DataObject, language: str) -> None:
    lines = [*MIX.encode().split(b"\n"), b"- name: f(Tensor x) -> Tensor", b"  x: g(h(grad))", b"- tag: t"]
    junk = st.one_of(
        st.binary(max_size=12),
        st.sampled_from([b"\t", b"- ", b"{", b"'", b"&a *a", b"%YAML 1.1", b"---", b"\x00"]),
    )
    mixed = data.draw(st.lists(st.one_of(st.sampled_from(lines), junk), max_size=30))
    text = data.draw(st.sampled_from([b"\n", b"\r\n", b"", b"\n  "])).join(mixed)
    facts = parse(text, language)
    assert facts == parse(text, language)
    places = [d.line for d in facts.definitions]
    places += [r.line for r in facts.references] + [p.line for p in facts.problems]
    assert all(0 <= line <= len(text.splitlines()) for line in places)
    str(facts).encode()  # what goes to the store must be text


@pytest.mark.parametrize("language", ["native_functions", "derivatives"])
def test_time_is_linear_in_hostile_text(language: str) -> None:
    text = (
        "- func: f(" + "(" * 2000 + "\n" + "- name: f(x) -> y\n  x: " + "a::" * 3000 + "<" * 3000 + "\n"
    ) * 20
    begin = time.perf_counter()
    parse(text, language)
    assert time.perf_counter() - begin < 5


@pytest.mark.real_tree
def test_the_real_files_are_read_as_yaml_reads_them(pytorch_tree: Path) -> None:
    for path, language in (
        ("aten/src/ATen/native/native_functions.yaml", "native_functions"),
        ("tools/autograd/derivatives.yaml", "derivatives"),
        ("aten/src/ATen/native/tags.yaml", "tags"),
    ):
        data = (pytorch_tree / path).read_bytes()
        read = yaml_entries.entries(data)
        mine = [{key.value: yaml_entries.value(node) for key, node in entry.fields} for entry in read.entries]
        assert mine == yaml.safe_load(data)
        facts = parse(data, language)
        assert facts.problems == ()
        lines = data.splitlines()
        for reference in facts.references:
            at = lines[reference.line - 1][reference.column :].decode()
            assert at[:1].isalpha() or at[:1] in "_:", reference
