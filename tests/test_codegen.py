"""`codegen`: schemas, the C++ signatures and names that torchgen makes of them, generated operators."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchtalkd.codegen.autogen import autogen_operators
from torchtalkd.codegen.names import (
    CppName,
    cpp_names,
    implicit_kernel,
    meta_function,
    python_names,
    ufunc_stub,
    unambiguous,
)
from torchtalkd.codegen.native_signature import impl_types, kernel_types, meta_types
from torchtalkd.codegen.schema import Alias, SchemaError, Type, parse_schema
from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import Definition
from torchtalkd.parse.op_schema import parse_op_schema

TORCHGEN = [
    "mix.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
    "mix_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)",
    "mix.out(Tensor self, *, float? p=None, Tensor(a!) o, Tensor(b!) more) -> (Tensor(a!), Tensor(b!))",
    "cut(Tensor(a -> *) self, int n, int dim=0) -> Tensor(a)[]",
    "see(Tensor(a|b) self, str s=\"a, 'b'\", int[2] k=[0,-1], float e=1e-5, *, bool[3] m) -> (Tensor, int n)",
    "fill(Tensor(a!)[] self, Tensor?[] others, Scalar[] s) -> ()",
    "name(Dimname[]? n=None, MemoryFormat? f=contiguous_format) -> Tensor grid",
    "none() -> ()",
]


@pytest.mark.parametrize("text", TORCHGEN)
def test_a_schema_in_torchgens_spelling_is_given_back_as_it_was(text: str) -> None:
    assert str(parse_schema(text)) == text


def test_the_parts_of_a_schema() -> None:
    schema = parse_schema(
        "my::mix.out(Tensor self, SymInt[2]? k=None, *, str s='x', Tensor(a!) out) -> Tensor(a!)"
    )
    assert schema.name == ("my", "mix", "out")
    assert [(a.name, str(a.type), a.default, a.keyword_only) for a in schema.arguments] == [
        ("self", "Tensor", None, False),
        ("k", "SymInt[2]?", "None", False),
        ("s", "str", "'x'", True),
        ("out", "Tensor", None, True),
    ]
    assert schema.out_arguments == schema.arguments[-1:]
    assert schema.returns[0].alias == Alias(("a",), True)
    assert schema.has_symint
    assert schema.arguments[1].type == Type("SymInt", ("[2]", "?"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("f(Tensor self) -> Tensor", "functional"),
        ("f_(Tensor(a!) self) -> Tensor(a!)", "inplace"),
        ("__iadd__(Tensor(a!) self) -> Tensor(a!)", "inplace"),
        ("__and__(Tensor self) -> Tensor", "functional"),
        ("f.x(Tensor self, *, Tensor(a!) out) -> Tensor(a!)", "out"),
        ("f(Tensor self, Tensor(a!) state) -> Tensor", "mutable"),
        ("f(Tensor self, *, Tensor(a!) out, Tensor(b!) _scratch_x) -> Tensor(a!)", "scratch"),
    ],
)
def test_kinds_of_schema(text: str, kind: str) -> None:
    assert parse_schema(text).kind == kind


def test_what_only_registrations_in_code_write() -> None:
    schema = parse_schema(
        "ns::f( (int,int) p,Dict(str, Tensor[]) d , Future(t) w, __torch__.torch.classes.a.B c,"
        " Tensor[](a!) l, Tensor! x, int[] q = [1, 2], ...)->(Tensor(a!)[] y, (int, int) z)"
    )
    assert [str(a.type) for a in schema.arguments] == [
        "(int, int)",
        "Dict(str, Tensor[])",
        "Future(t)",
        "__torch__.torch.classes.a.B",
        "Tensor[]",
        "Tensor",
        "int[]",
    ]
    assert schema.arguments[4].written
    assert schema.arguments[5].alias == Alias((), True)
    assert schema.arguments[6].default == "[1,2]"
    assert [r.name for r in schema.returns] == ["y", "z"]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("", 0),
        ("f", 1),
        ("f(", 2),
        ("f(Tensor", 8),
        ("f(Tensor a", 10),
        ("f(Tensor a) -> ", 14),
        ("f(Tensor @ a) -> Tensor", 9),
        ("f(Tensor a,) -> Tensor", 11),
        ("f(Tensor a=) -> Tensor", 11),
        ("f(Tensor a) -> Tensor; g", 21),
        ("f(" + "(" * 1000, 35),
    ],
)
def test_an_error_says_where(text: str, position: int) -> None:
    with pytest.raises(SchemaError) as error:
        parse_schema(text)
    assert error.value.position == position
    assert isinstance(error.value, ValueError)


@settings(max_examples=200, deadline=None)
@given(st.text("fT(a!)[]?*,=->.: 1\"'|{<", max_size=40) | st.sampled_from(TORCHGEN), st.integers(0, 80))
def test_any_text_is_a_schema_or_a_schema_error(text: str, cut: int) -> None:
    try:
        schema = parse_schema(text[:cut])
    except SchemaError as error:
        position = error.position
    else:
        position = 0
        assert parse_schema(str(schema)) == schema
    assert 0 <= position <= len(text)


def test_a_kernel_takes_out_arguments_last_and_options_scattered() -> None:
    schema = (
        "f.out(Tensor self, int[1]? dim, *, ScalarType dtype=long, Layout? layout=None, Device? device=None,"
        " bool? pin_memory=None, Tensor(a!) out, MemoryFormat? m=None) -> Tensor(a!)"
    )
    assert kernel_types(schema, "f_out") == (
        "at::Tensor",
        "at::OptionalIntArrayRef",
        "::std::optional<at::ScalarType>",
        "::std::optional<at::Layout>",
        "::std::optional<at::Device>",
        "::std::optional<bool>",
        "::std::optional<at::MemoryFormat>",
        "at::Tensor",
    )


@pytest.mark.parametrize(
    ("type_", "plain", "symint"),
    [
        ("SymInt", "int64_t", "c10::SymInt"),
        ("SymInt?", "::std::optional<int64_t>", "::std::optional<c10::SymInt>"),
        ("SymInt[]", "at::IntArrayRef", "c10::SymIntArrayRef"),
        ("SymInt[2]?", "at::OptionalIntArrayRef", "at::OptionalSymIntArrayRef"),
        ("int[]", "at::IntArrayRef", "at::IntArrayRef"),
        ("float[]?", "::std::optional<at::ArrayRef<double>>", "::std::optional<at::ArrayRef<double>>"),
        ("Tensor?", "::std::optional<at::Tensor>", "::std::optional<at::Tensor>"),
        ("Tensor[]", "at::TensorList", "at::TensorList"),
        ("Tensor?[]", "c10::List<::std::optional<at::Tensor>>", "c10::List<::std::optional<at::Tensor>>"),
        ("Scalar?", "::std::optional<at::Scalar>", "::std::optional<at::Scalar>"),
        ("Scalar[]", "at::ArrayRef<at::Scalar>", "at::ArrayRef<at::Scalar>"),
        ("bool[3]", "::std::array<bool,3>", "::std::array<bool,3>"),
        ("Dimname[]?", "::std::optional<at::DimnameList>", "::std::optional<at::DimnameList>"),
        ("str?", "::std::optional<c10::string_view>", "::std::optional<c10::string_view>"),
        ("Generator?", "::std::optional<at::Generator>", "::std::optional<at::Generator>"),
        ("Storage", "at::Storage", "at::Storage"),
        ("Stream", "at::Stream", "at::Stream"),
        ("__torch__.torch.classes.q.P", "c10::intrusive_ptr<P>", "c10::intrusive_ptr<P>"),
    ],
)
def test_argument_types_of_kernels(type_: str, plain: str, symint: str) -> None:
    assert kernel_types(f"f({type_} x) -> ()", "f") == (plain,)
    assert kernel_types(f"f({type_} x) -> ()", "f_cpu_symint") == (symint,)


def test_structured_kernels_have_their_own_types_and_precomputed_arguments() -> None:
    arguments = "Tensor self, Tensor? w, Tensor[] ts, SymInt[2] k, int dim, Scalar? s, *, Tensor(a!) out"
    schema = f"f.out({arguments}) -> Tensor(a!)"
    front = ("at::Tensor", "at::OptionalTensorRef", "at::ITensorListRef", "at::ArrayRef<int64_t>")
    assert meta_types(schema) == (*front, "int64_t", "at::OptionalScalarRef")
    assert impl_types(schema, ["dim -> int dim, bool all", "DimVector sizes"]) == (
        *front,
        "int64_t",
        "bool",
        "at::OptionalScalarRef",
        "at::DimVector",
        "at::Tensor",
    )


def test_names_of_kernels_and_classes() -> None:
    assert implicit_kernel("f.x(Tensor self, *, Tensor(a!) out) -> Tensor(a!)") == "f_out"
    assert implicit_kernel("f_.x(Tensor(a!) self, *, int k=1) -> Tensor(a!)") == "f_"
    assert unambiguous("aten::mix.Tensor") == "mix_Tensor"
    assert unambiguous("mix") == "mix"
    assert meta_function("aten::mix.Tensor") == "at::meta::mix_Tensor"
    assert ufunc_stub("aten::mix.out") == "at::native::mix_stub"


def test_python_names() -> None:
    assert python_names("aten::mix.out", ("function", "method")) == ("torch.mix", "torch.Tensor.mix")
    assert python_names("mix", python_module="nn") == ("torch._C._nn.mix",)
    assert python_names("mix", python_module="nn", modules={"nn": "my.nn"}) == ("my.nn.mix",)


def test_cpp_names() -> None:
    names = cpp_names(
        "f.o(SymInt n, *, Tensor(a!) out) -> Tensor(a!)", ("function",), ("CPU", "SparseCPU", "CPU")
    )
    assert [n.name for n in names if n.name.count("::") == 1] == [
        "at::f_out",
        "at::f_outf",
        "at::f_symint_out",
        "at::f_symint_outf",
    ]
    assert CppName("at::_ops::f_o::call") in names
    assert CppName("at::_ops::f_o::redispatch") in names
    assert CppName("at::redispatch::f_outf") in names
    assert [n for n in names if n.dispatch_key] == [
        CppName(f"at::cpu::{n}", "CPU") for n in ("f_out", "f_outf", "f_symint_out", "f_symint_outf")
    ]
    both = cpp_names("g(Tensor self) -> int", ("function", "method"), manual_cpp_binding=True)
    assert [n.name for n in both][:3] == ["at::__dispatch_g", "at::Tensor::__dispatch_g", "at::redispatch::g"]


@pytest.mark.parametrize(
    ("schema", "name", "made", "kernel"),
    [
        (
            "mix.x(Tensor(a) self, SymInt n, *, ScalarType? dtype=None, Layout? layout=None,"
            " Device? device=None,"
            " bool? pin_memory=None, bool c=False) -> Tensor",
            "mix.x_out",
            "mix.x_out(Tensor self, SymInt n, *, bool c=False, Tensor(b!) out) -> Tensor(b!)",
            "mix_x_out_symint",
        ),
        (
            "two(Tensor self) -> (Tensor l, Tensor[] r, int n)",
            "two.out",
            "two.out(Tensor self, *, Tensor(a!) out0, Tensor(b!)[] out1) -> int n",
            "two_out",
        ),
        (
            "mix_.T(Tensor(a!) self, Tensor o, *, int k=1) -> Tensor(a!)",
            "mix.T_out",
            "mix.T_out(Tensor self, Tensor o, *, int k=1, Tensor(a!) out) -> Tensor(a!)",
            "mix_T_out",
        ),
        (
            "mix_(Tensor(a!) self, Tensor(b!) o) -> Tensor(a!)",
            "mix",
            "mix(Tensor self, Tensor o) -> (Tensor, Tensor o_out)",
            "mix",
        ),
        (
            "state(Tensor self, Tensor(a!) s) -> Tensor",
            "state.out",
            "state.out(Tensor self, Tensor(a!) s, *, Tensor(b!) out) -> Tensor(b!)",
            "state_out",
        ),
        (
            "state(Tensor self, Tensor(a!) s) -> Tensor",
            "state_functional",
            "state_functional(Tensor self, Tensor s) -> (Tensor, Tensor s_out)",
            "state_functional",
        ),
    ],
)
def test_generated_operators(schema: str, name: str, made: str, kernel: str) -> None:
    entry = Definition(
        "op:x",
        f"aten::{schema.partition('(')[0]}",
        "operator",
        1,
        0,
        1,
        signature=schema,
        detail={"autogen": [name]},
    )
    (operator,) = autogen_operators(entry)
    assert (operator.name, operator.schema, operator.kernel) == (f"aten::{name}", made, kernel)
    assert operator.wraps == entry.name


def test_no_variant_is_made_of_an_operator_that_can_have_none() -> None:
    entry = Definition("op:x", "aten::x", "operator", 1, 0, 1, signature="x(Tensor self) -> int")
    assert autogen_operators(entry) == ()
    assert autogen_operators(entry._replace(detail={"autogen": ["x.out", "x_functional"]})) == ()


@pytest.mark.real_tree
def test_every_real_schema_is_given_back_as_it_was(pytorch_tree: Path) -> None:
    data = (pytorch_tree / "aten/src/ATen/native/native_functions.yaml").read_bytes()
    entries = parse_op_schema("x.yaml", data, Conventions("x", 1), "native_functions", "library").definitions
    operators = [entry for entry in entries if entry.kind == "operator" and entry.signature]
    assert len(operators) > 2000
    for entry in operators:
        assert str(parse_schema(entry.signature)) == entry.signature
        assert kernel_types(entry.signature, "f") or "()" in entry.signature
        autogen_operators(entry)
