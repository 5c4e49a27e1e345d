"""`link.overload`: which definitions of a name have the parameters that a schema demands."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchtalkd.codegen.native_signature import impl_types, kernel_types
from torchtalkd.link.overload import best, canonical, choose, matches, parameter_types


@pytest.mark.parametrize(
    ("schema_type", "spellings"),
    [
        (
            "Tensor",
            ["const Tensor&", "Tensor", "at::Tensor &", "torch::Tensor const &", "const ::at::Tensor&"],
        ),
        ("Tensor", ["const SparseTensor&", "c10::MaybeOwned<Tensor>", "[[maybe_unused]] const Tensor &"]),
        (
            "Tensor?",
            ["const std::optional<Tensor>&", "const c10::optional<at::Tensor>& ", "optional<Tensor>"],
        ),
        ("Tensor?", ["at::OptionalTensorRef", "::std::optional<torch::Tensor> const &"]),
        (
            "Tensor[]",
            ["TensorList", "at::ArrayRef<Tensor>", "const ITensorListRef&", "std::vector<at::Tensor>"],
        ),
        (
            "Tensor?[]",
            ["const c10::List<std::optional<Tensor>>&", "const torch::List<c10::optional<Tensor> >&"],
        ),
        ("int[]", ["IntArrayRef", "at::IntArrayRef", "ArrayRef<int64_t>", "c10::ArrayRef<int64_t>"]),
        ("int[1]?", ["OptionalIntArrayRef", "at::OptionalIntArrayRef", "OptionalArrayRef<int64_t>"]),
        ("int?", ["std::optional<int64_t>", "const c10::optional<int64_t>", "::std::optional<long>"]),
        ("str", ["c10::string_view", "std::string_view", "const std::string&"]),
        ("Scalar", ["const Scalar&", "Scalar", "const at::Scalar &"]),
        ("bool[3]", ["std::array<bool, 3>", "::std::array<bool,3>"]),
        ("float[]?", ["std::optional<ArrayRef<double>>"]),
        ("Dimname[]?", ["std::optional<DimnameList>"]),
        ("ScalarType?", ["c10::optional<ScalarType>", "std::optional<c10::ScalarType>"]),
        ("Generator?", ["std::optional<Generator>"]),
    ],
)
def test_spellings_of_one_type(schema_type: str, spellings: list[str]) -> None:
    demanded = kernel_types(f"f({schema_type} x) -> Tensor", "f")
    for spelling in spellings:
        for text in (f"({spelling} x) -> Tensor", f"( {spelling} )", f"({spelling} x = {{}}) const -> int"):
            assert matches(demanded, text) == "declared", text


def test_the_shape_of_the_list_decides_after_the_types() -> None:
    demanded = kernel_types("f(Tensor self, SymInt n, *, Tensor(a!) out) -> Tensor(a!)", "f_out")
    assert matches(demanded, "(const Tensor & self, int64_t n, Tensor & out) -> Tensor &") == "declared"
    assert matches(demanded, "(const Tensor & self, c10::SymInt n, Tensor & out) -> Tensor &") == "candidate"
    assert matches(demanded, "(Tensor & out, const Tensor & self, int64_t n) -> Tensor &") == "candidate"
    assert matches(demanded, "(const Tensor & self, int64_t n) -> Tensor &") == "no"
    symint = kernel_types("f(Tensor self, SymInt n, *, Tensor(a!) out) -> Tensor(a!)", "f_out_symint")
    assert matches(symint, "(const Tensor & self, c10::SymInt n, Tensor & out) -> Tensor &") == "declared"


@pytest.mark.parametrize("text", ["()", "(void)", "( )", "(/* nothing, at all */)"])
def test_no_parameters(text: str) -> None:
    assert matches((), text) == "declared"
    assert matches(("at::Tensor",), text) == "no"


def test_what_is_between_the_types_does_not_count() -> None:
    text = (
        "(const std::tuple<int, Tensor>& a /* first, of two */, int b = f(1, 2), unsigned long long c,"
        " std::function<void(int, int)> d = [](int x, int y) { return x < y; }, char * const e, int64_t f[3],"
        " bool /*unused*/, // a line, here\n const Tensor& t) -> std::tuple<Tensor, Tensor>"
    )
    assert parameter_types(text) == (
        "tuple<int,Tensor>",
        "int",
        "unsigned long long",
        "function<void(int, int)>",
        "char*",
        "int64_t*",
        "bool",
        "Tensor",
    )


def test_a_signature_that_is_not_known_is_a_candidate() -> None:
    assert matches(("at::Tensor",), "") == "candidate"
    assert (
        matches(("at::Tensor",), "(int a, // lost, the end of this line const Tensor& b) -> Tensor")
        == "candidate"
    )


OVERLOADS = [
    "(const Tensor & self, int64_t dim) -> Tensor",
    "(const Tensor & self, Dimname dim) -> Tensor",
    "(const Tensor & self) -> Tensor",
    "(const Tensor & self, const Tensor & dim) -> Tensor",
]


def test_equal_types_win() -> None:
    assert choose(OVERLOADS, "f.d(Tensor self, Dimname dim) -> Tensor", "f", str) == [
        (OVERLOADS[1], "declared")
    ]
    assert choose(OVERLOADS * 2, "f(Tensor self) -> Tensor", "f", str) == [(OVERLOADS[2], "declared")] * 2


def test_else_those_with_as_many_parameters() -> None:
    schema = "f(Tensor self, Scalar dim) -> Tensor"
    assert choose(OVERLOADS, schema, "f", str) == [(OVERLOADS[n], "candidate") for n in (0, 1, 3)]
    assert choose(OVERLOADS[1:3], schema, "f", str) == [(OVERLOADS[1], "unique")]
    assert choose(OVERLOADS, "f(Tensor self, int a, int b) -> Tensor", "f", str) == []


def test_a_schema_that_cannot_be_read_chooses_nothing_out() -> None:
    assert choose(OVERLOADS[:2], "f(Tensor", "f", str) == [(text, "candidate") for text in OVERLOADS[:2]]
    assert choose(OVERLOADS[:1], "f(Tensor", "f", str) == [(OVERLOADS[0], "unique")]


def test_structured_kernels_by_their_own_types() -> None:
    demanded = impl_types("f.out(Tensor self, Tensor? w, *, Tensor(a!) out) -> Tensor(a!)")
    assert (
        best(["(const Tensor& self, at::OptionalTensorRef w, const Tensor& out)"], demanded, str)[0][1]
        == "declared"
    )


@settings(max_examples=200, deadline=None)
@given(st.text("a_T<>()[]{},:&*=/- \n1", max_size=60))
def test_any_text_has_some_parameters(text: str) -> None:
    assert matches(("at::Tensor",), text) in ("declared", "candidate", "no")
    canonical(text)


def test_hostile_text_takes_no_time_and_no_stack() -> None:
    begin = time.perf_counter()
    for text in (
        "(" + "a<" * 9000 + ")",
        "(" + "optional<" * 2000 + ">" * 2000 + ")",
        "(" + "[[" * 9000,
        "(" * 9000,
    ):
        matches(("at::Tensor",), text)
    assert time.perf_counter() - begin < 5
