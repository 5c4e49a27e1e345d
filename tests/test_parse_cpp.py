"""The C++ parser: what it finds in small texts, and that no text makes it fail."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchtalkd.conventions.load import load
from torchtalkd.conventions.values import Conventions
from torchtalkd.facts import Definition, FileFacts
from torchtalkd.parse import cpp_recovery, parse
from torchtalkd.parse.collector import Collector
from torchtalkd.parse.cpp_second_reading import Again, read_again
from torchtalkd.parse.cpp_skeleton import Body, bodies
from torchtalkd.parse.cpp_text import Text, directives
from torchtalkd.parse.spelling import spelling


@pytest.fixture(scope="module")
def conventions() -> Conventions:
    return load("pytorch")


def facts_of(text: str | bytes, path: str = "aten/src/ATen/native/a.cpp") -> FileFacts:
    data = text.encode() if isinstance(text, str) else text
    return parse(path, data, load("pytorch"))


def names(facts: FileFacts, *kinds: str) -> list[str]:
    return [d.name for d in facts.definitions if d.kind in kinds and not d.declares]


def one(facts: FileFacts, kind: str) -> Definition:
    found = [d for d in facts.definitions if d.kind == kind]
    assert len(found) == 1, found
    return found[0]


def targets(facts: FileFacts, definition: Definition) -> list[str]:
    ordinal = facts.definitions.index(definition)
    return [r.name for r in facts.references if r.owner == ordinal and r.kind == "target"]


def test_names_carry_namespaces_and_classes() -> None:
    facts = facts_of(
        """
namespace at::native {
namespace { int hidden(int a) { return a; } }
static Tensor& quiet(Tensor& self) { return self; }
struct Box : public Base<int> { Box(int x); int size() const { return n(); } };
template <typename T> T Outer<T>::inner(T a) { return helper<T>(a); }
bool operator==(const Box& a, const Box& b) { return true; }
}
"""
    )
    assert names(facts, "function") == [
        "at::native::hidden",
        "at::native::quiet",
        "at::native::Box::size",
        "at::native::Outer::inner",
        "at::native::operator==",
    ]
    by_name = {d.name: d for d in facts.definitions}
    assert by_name["at::native::hidden"].local and by_name["at::native::quiet"].local
    assert not by_name["at::native::Outer::inner"].local
    assert by_name["at::native::quiet"].signature == "(Tensor& self) -> Tensor"
    calls = {(r.name, r.kind) for r in facts.references}
    assert ("helper", "call") in calls and ("Base", "base") in calls


def test_declarations_are_kept_apart() -> None:
    facts = facts_of(
        "namespace at { TORCH_API Tensor f(const Tensor& a);\nTensor f(const Tensor& a) { return a; } }"
    )
    assert [(d.name, d.declares, d.line) for d in facts.definitions] == [
        ("at::f", True, 1),
        ("at::f", False, 2),
    ]


def test_structured_kernels() -> None:
    facts = facts_of(
        """namespace at::meta {
TORCH_META_FUNC2(add, Tensor)(const Tensor& self) { build(maybe_get_output(), self); }
}
namespace at::native {
TORCH_IMPL_FUNC(add_out)(const Tensor& self, const Tensor& out) { add_stub(device_type(), *this); }
}"""
    )
    meta, impl = one(facts, "structured_meta"), one(facts, "structured_impl")
    assert (meta.key, meta.name, meta.line) == ("cpp:add_Tensor", "at::meta::add_Tensor", 2)
    assert (impl.key, impl.name, impl.line) == ("cpp:add_out", "at::native::add_out", 5)
    ordinal = facts.definitions.index(impl)
    assert "add_stub" in [r.name for r in facts.references if r.owner == ordinal]


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("aten/src/ATen/native/cpu/a.cpp", "CPU"),
        ("aten/src/ATen/native/cuda/a.cu", "CUDA"),
        ("aten/src/ATen/native/mps/operations/a.mm", "MPS"),
    ],
)
def test_a_stub_kernel_has_the_key_of_its_file(path: str, key: str) -> None:
    facts = facts_of("namespace at::native {\nREGISTER_DISPATCH(mul_stub, &mul_kernel)\n}", path)
    kernel = one(facts, "stub_kernel")
    assert (kernel.name, kernel.dispatch_key, kernel.line) == ("at::native::mul_stub", key, 2)
    assert targets(facts, kernel) == ["mul_kernel"]


def test_macros_that_the_grammar_takes_for_something_else() -> None:
    facts = facts_of(
        """namespace at::native {
DECLARE_DISPATCH(void (*)(TensorIteratorBase&, int64_t), gelu_stub)
REGISTER_DISPATCH(gelu_stub, static_cast<void (*)(int)>(&gelu_kernel))
}
TORCH_LIBRARY_IMPL(aten, AutocastCUDA, m) {
  KERNEL_CUDA2(softmax, int, fp32)
  KERNEL_CUDA(mm, lower_precision_fp)
}""",
        "aten/src/ATen/native/cpu/a.cpp",
    )
    stub = one(facts, "stub")
    assert (stub.name, stub.declares, stub.line) == ("at::native::gelu_stub", True, 2)
    assert targets(facts, one(facts, "stub_kernel")) == ["gelu_kernel"]
    uses = [
        (d.name, d.line, (d.detail or {})["arguments"]) for d in facts.definitions if d.kind == "macro_use"
    ]
    assert uses == [
        ("KERNEL_CUDA2", 6, ["softmax", "int", "fp32"]),
        ("KERNEL_CUDA", 7, ["mm", "lower_precision_fp"]),
    ]
    assert all(
        (d.detail or {})["library"] == "aten" and facts.definitions[d.scope].kind == "library"
        for d in facts.definitions
        if d.kind == "macro_use"
    )


def test_registrations_in_all_their_spellings() -> None:
    facts = facts_of(
        """TORCH_LIBRARY_IMPL(aten, CUDA, lib) {
  lib.impl("a", f);
  lib.impl("b.out", &ns::f);
  lib.impl("c", TORCH_FN(ns::g));
  lib.impl(TORCH_SELECTIVE_NAME("aten::d"), [](int x) { return x; });
  lib.impl("e", torch::CppFunction::makeFromBoxedFunction<&boxed>());
  lib.impl("f", torch::CppFunction::makeFallthrough());
  lib.impl(R"(g)",
           TORCH_FN((tmpl<int, 3>)));
  lib.impl("h", torch::dispatch(c10::DispatchKey::CPU, &f)).impl("i", static_cast<int (*)(int)>(&over));
  lib.fallback(torch::CppFunction::makeFallthrough());
}"""
    )
    found = [
        (d.name, d.dispatch_key, tuple(targets(facts, d)), d.line)
        for d in facts.definitions
        if d.kind == "registration"
    ]
    assert sorted(found, key=lambda item: (item[3], item[0])) == [
        ("aten::a", "CUDA", ("f",), 2),
        ("aten::b.out", "CUDA", ("ns::f",), 3),
        ("aten::c", "CUDA", ("ns::g",), 4),
        ("aten::d", "CUDA", (), 5),
        ("aten::e", "CUDA", ("boxed",), 6),
        ("aten::f", "CUDA", (), 7),
        ("aten::g", "CUDA", ("tmpl",), 8),
        ("aten::h", "CPU", ("f",), 10),
        ("aten::i", "CUDA", ("over",), 10),
        ("aten::*", "CUDA", (), 11),
    ]
    block = one(facts, "library")
    assert (block.line, block.end_line, block.dispatch_key) == (1, 12, "CUDA")


def test_schemas_with_and_without_kernels() -> None:
    facts = facts_of(
        """TORCH_LIBRARY(mine, m) {
  m.def("plain(Tensor x) -> Tensor");
  m.def("two.out(Tensor x, "
        "*, Tensor(a!) out) -> Tensor(a!)", two_out);
  m.def("inferred", &inferred);
}
TORCH_LIBRARY_FRAGMENT(TORCH_EXTENSION_NAME, m) { m.def("hole(Tensor x) -> Tensor"); }"""
    )
    found = [
        (d.name, d.signature, d.dispatch_key, tuple(targets(facts, d)))
        for d in facts.definitions
        if d.kind == "schema"
    ]
    assert found == [
        ("mine::plain", "plain(Tensor x) -> Tensor", "", ()),
        ("mine::two.out", "two.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", "CatchAll", ("two_out",)),
        ("mine::inferred", "", "CatchAll", ("inferred",)),
        ("{TORCH_EXTENSION_NAME}::hole", "hole(Tensor x) -> Tensor", "", ()),
    ]


def test_the_old_registries() -> None:
    facts = facts_of(
        """static auto r = c10::RegisterOperators()
  .op("old::f(Tensor x) -> Tensor",
      c10::RegisterOperators::options().kernel<decltype(g), &g>(DispatchKey::CPU))
  .op("old::h", &h);
RegisterOperators more({Operator("prim::k(int a) -> int", [](Stack& s) {})});"""
    )
    found = {d.name: (d.dispatch_key, targets(facts, d)) for d in facts.definitions if d.kind == "schema"}
    assert found == {"old::f": ("CPU", ["g"]), "old::h": ("CatchAll", ["h"]), "prim::k": ("CatchAll", [])}


def test_pybind11_modules_classes_and_submodules() -> None:
    facts = facts_of(
        """PYBIND11_MODULE(_ext, m) {
  m.def("fwd", &fwd, "doc");
  py::class_<Foo, std::shared_ptr<Foo>>(m, "Foo")
    .def(py::init<>()).def("run", &Foo::run).def("x", [](Foo& f) { return 1; });
  auto sub = m.def_submodule("sub");
  sub.def("q", q);
}
void init(PyObject* module) {
  auto m = py::handle(module).cast<py::module>();
  m.def("_jit_f", jit_f);
}
void more(py::module_& mod) { mod.def("_more", &more_f); }"""
    )
    found = {d.name: targets(facts, d) for d in facts.definitions if d.kind == "python_binding"}
    assert found == {
        "_ext.fwd": ["fwd"],
        "_ext.Foo": ["Foo"],
        "_ext.Foo.run": ["Foo::run"],
        "_ext.Foo.x": [],
        "_ext.sub.q": ["q"],
        "torch._C._jit_f": ["jit_f"],
        "torch._C._more": ["more_f"],
    }


def test_method_tables() -> None:
    facts = facts_of(
        """static PyMethodDef some_methods[] = {
  {"a", castPyCFunctionWithKeywords(THP_a), METH_VARARGS, nullptr},
  {"b", (PyCFunction)(void (*)(void))THP_b, METH_NOARGS, NULL},
  {nullptr}};"""
    )
    found = {d.name: targets(facts, d) for d in facts.definitions if d.kind == "python_binding"}
    assert found == {"{some_methods}.a": ["THP_a"], "{some_methods}.b": ["THP_b"]}


def test_cuda_kernels_and_launches() -> None:
    facts = facts_of(
        """template <typename T> C10_LAUNCH_BOUNDS_1(256) __global__ void k(T* a) { device_f(a); }
void launch() {
  k<T><<<grid, block, 0, stream>>>(a, b);
  gpu_kernel(iter, [] GPU_LAMBDA (float a) -> float { return g(a); });
  AT_DISPATCH_ALL_TYPES(t, "launch_cuda", [&] { bar<scalar_t>(y); });
}""",
        "aten/src/ATen/native/cuda/a.cu",
    )
    assert names(facts, "kernel") == ["k"]
    assert [(r.name, r.line) for r in facts.references if r.kind == "launch"] == [("k", 3), ("gpu_kernel", 4)]
    assert [r.name for r in facts.references if r.kind == "dispatch_name"] == ["launch_cuda"]
    owner = facts.definitions.index(next(d for d in facts.definitions if d.name == "launch"))
    assert {r.name for r in facts.references if r.owner == owner} >= {"k", "g", "bar"}


def test_metal_kernels() -> None:
    facts = facts_of(
        """template<typename T>
[[host_name("k")]] kernel void k(constant float* a [[buffer(0)]], device T* out [[buffer(1)]]) { help(a); }
void help(constant float* a) {}""",
        "aten/src/ATen/native/mps/kernels/a.metal",
    )
    assert names(facts, "kernel") == ["k"] and names(facts, "function") == ["help"]


def test_macros_of_the_file_make_functions_at_their_use() -> None:
    facts = facts_of(
        """namespace at::native {
#define IMPLEMENT(op, type) \\
  static void v##op##_kernel(type x) { op##_impl(x); }
#define IMPLEMENT_BOTH(op) IMPLEMENT(op, float) IMPLEMENT(op##2, double)
IMPLEMENT(sin, float)
static IMPLEMENT_BOTH(cos)
#define HEAD(name) void name##_head(int a)
HEAD(tan) { inner(a); }
Tensor after(const Tensor& x) { return x; }
}"""
    )
    found = {d.name: d.line for d in facts.definitions if d.kind == "function"}
    assert found == {
        "at::native::vsin_kernel": 5,
        "at::native::vcos_kernel": 6,
        "at::native::vcos2_kernel": 6,
        "at::native::tan_head": 8,
        "at::native::after": 9,
    }
    head = next(i for i, d in enumerate(facts.definitions) if d.name.endswith("tan_head"))
    assert [r.name for r in facts.references if r.owner == head] == ["inner"]


def test_macros_that_register() -> None:
    facts = facts_of(
        """#define OP(op) m.impl(#op, static_cast<decltype(&ATEN_FN(op))>(native::op));
TORCH_LIBRARY_IMPL(aten, FuncTorchBatched, m) {
  OP(alpha);
  ELSEWHERE(beta, rule);
}"""
    )
    registration = one(facts, "registration")
    assert (registration.name, registration.dispatch_key, registration.line) == (
        "aten::alpha",
        "FuncTorchBatched",
        3,
    )
    assert targets(facts, registration) == ["native::alpha"]
    assert facts.definitions[registration.scope].kind == "library"
    use = one(facts, "macro_use")
    assert use.name == "ELSEWHERE" and use.detail == {
        "arguments": ["beta", "rule"],
        "library": "aten",
        "dispatch_key": "FuncTorchBatched",
    }
    header = facts_of("#define OP(op) m.impl(#op, static_cast<decltype(&ATEN_FN(op))>(native::op));", "a.h")
    macro = one(header, "macro")
    assert macro.detail is not None
    assert macro.detail["makes"] == [["registration", "{library}::{0}", "{dispatch_key}", ["native::{0}"]]]


def test_both_branches_of_an_if_that_cuts_through_braces() -> None:
    facts = facts_of(
        """#ifdef USE_X
int first(int a) {
  if (a) {
#else
int second(int a) {
  {
#endif
    return shared(a);
  }
}
int third() { return 3; }
"""
    )
    assert {"first", "second", "third"} <= set(names(facts, "function"))


def test_an_if_between_a_head_and_its_body() -> None:
    facts = facts_of(
        """namespace a {
T::T(const int64_t s)
#ifdef USE_X
    : x_(make(s)) {
  x_->y = s;
}
#else
{
}
#endif
T::operator bool() const { return true; }
}"""
    )
    assert set(names(facts, "function")) == {"a::T::operator bool", "a::T::T"}


def test_an_if_where_the_grammar_has_no_place_for_one() -> None:
    facts = facts_of(
        """void f(int a,
#ifdef USE_X
       int b,
#endif
       int c) {
  if (a) { first(); }
#ifdef USE_X
  else if (b) { second(b, c); }
#elif defined(USE_Y)
  else if (c) { third(a,
#if VERSION > 3
    b,
#else
    c,
#endif
    c); }
#endif
  else { last<double>(ARGUMENTS(double)); }
}
"""
    )
    assert not facts.problems
    assert [d.signature for d in facts.definitions] == ["(int a, int b, int c) -> void"]
    assert [(r.name, r.arguments) for r in facts.references] == [
        ("first", 0),
        ("second", 2),
        ("third", 4),
        ("last", 1),
        ("ARGUMENTS", 1),
    ]


def test_an_if_that_uses_a_macro_is_a_use() -> None:
    facts = facts_of("#if HAS_X()\nvoid f();\n#endif\n#if !defined(Y) && HAS_Z(3)\nvoid g();\n#endif\n")
    assert [(r.kind, r.name, r.line) for r in facts.references] == [
        ("macro", "HAS_X", 1),
        ("macro", "HAS_Z", 4),
    ]


def test_what_stands_in_if_0_costs_nothing_behind_it() -> None:
    facts = facts_of(
        "#if 0\nfirst_flag\nsecond_flag\n#endif\nstruct A : B {\n  int size() { return 1; }\n};\n"
    )
    assert names(facts, "class") == ["A"]
    assert names(facts, "function") == ["A::size"]


def test_a_name_that_an_if_asks_for_is_no_function() -> None:
    facts = facts_of("void f() {\n#ifdef FLAGS\n  use(TO_STRING(FLAGS));\n#endif\n}\n")
    assert not [r for r in facts.references if r.kind == "address"]


def test_a_body_the_grammar_cannot_read_costs_no_other_function() -> None:
    text = """namespace at::native {
static void before(id x) { [x set:@"a" to:^(NSString* s) { return [s length: 1 of:{2}]; }]; inner(x); }
TORCH_IMPL_FUNC(abs_out_mps)(const Tensor& a) {
  @autoreleasepool { MPSGraph* g = [[[MPSGraph alloc] init] autorelease] }; run(g);
}
Tensor after(const Tensor& a) { return a; }
} // namespace at::native
"""
    facts = facts_of(text, "aten/src/ATen/native/mps/operations/a.mm")
    assert {"at::native::before", "at::native::after"} <= set(names(facts, "function"))
    impl = one(facts, "structured_impl")
    assert (impl.name, impl.line, impl.end_line) == ("at::native::abs_out_mps", 3, 5)


def test_what_was_read_well_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def noted(collector: Collector, grammar: str, data: bytes, again: Again, repair: bool = False) -> None:
        read.extend(data[start:end].decode() for start, end in again.stretches)
        read_again(collector, grammar, data, again, repair)

    monkeypatch.setattr(cpp_recovery, "read_again", noted)
    facts = facts_of(
        """namespace n {
  int well(int a) { return outer(a); }
  void lost(id x) { [x set:@"a" to:1]; }
  int more(int a) { return third(a); }
}
""",
        "a.mm",
    )
    assert names(facts, "function") == ["n::well", "n::lost", "n::more"]
    assert [(r.name, r.owner) for r in facts.references] == [("outer", 0), ("third", 2)]
    assert any("int well(int a) {" in text for text in read)
    assert not any("outer" in text or "third" in text for text in read)


def test_a_new_function_has_the_calls_of_the_body_that_was_left_out() -> None:
    data = b"namespace n {\nint f(int a) {\n  return g(a);\n}\n}\n"
    start, end = data.index(b"{\n  return"), data.index(b"}\n}")
    conventions = load("pytorch")

    def collector() -> Collector:
        return Collector("a.cpp", "cpp", Text(data), spelling(conventions), directives(data), {})

    first = collector()
    # As if the grammar had taken the head for another function's.
    taken = first.define("function", "cpp:wrong", "wrong", data.index(b"int"), end)
    first.bodies[start] = end + 1, taken
    first.refer("call", "cpp:g", "g", data.index(b"g("), taken, 1)
    stretches = [(0, start + 1), (end, len(data))]
    read_again(first, "cpp", data, Again(stretches, [], [Body(start, end)]), repair=True)
    assert [d.name for d in first.definitions] == ["wrong", "n::f"]
    assert [(r.name, r.owner) for r in first.references] == [("g", 0), ("g", 1)]


def test_bodies_that_are_known_are_not_counted_again() -> None:
    data = b'namespace n {\nint f() { "}"; { 1; } }\nstruct S { int g() { } };\n/* { */ void h() { }\n}\n'
    found = bodies(data, ())
    assert found is not None
    assert [data[body.start : body.end + 1].decode() for body in found.bodies] == [
        '{ "}"; { 1; } }',
        "{ int g() { } }",
        "{ }",
    ]
    inner = data.index(b"{ } }")
    known = sorted([found.bodies[0], Body(inner, inner + 2), found.bodies[2]])
    assert bodies(data, known) == found
    assert bodies(data[:-2], known) is None


def test_a_missing_semicolon_at_the_end_of_a_body() -> None:
    facts = facts_of('void f(int a) {\n  CHECK(a == 1, "no")\n}\nint g() { return h(); }')
    assert names(facts, "function") == ["f", "g"]


def test_stubs_passed_as_values_are_references() -> None:
    facts = facts_of(
        """Tensor& abs_out(const Tensor& self, Tensor& out) {
  return unary_op_impl_with_complex_to_float_out(out, self, abs_stub, false);
}
Tensor& random_(Tensor& self) { return impl<RandomStub, Generator>(self); }"""
    )
    values = [r for r in facts.references if r.kind == "address"]
    found = {(r.name, r.line, facts.definitions[r.owner].name) for r in values}
    assert found == {("abs_stub", 2, "abs_out"), ("RandomStub", 4, "random_")}


def test_a_call_that_reads_like_a_definition_is_a_call() -> None:
    facts = facts_of(
        """void run(TensorIterator& iter) {
  gpu_reduce_kernel<scalar_t, out_t, 2>(iter, ops, typename ops_t::acc_t{});
  CUDA_KERNEL_LOOP(i, n) { inner(i); }
}""",
        "aten/src/ATen/native/cuda/a.cu",
    )
    assert names(facts, "function") == ["run"]
    assert [(r.name, r.line) for r in facts.references if r.kind == "launch"] == [("gpu_reduce_kernel", 2)]
    assert "inner" in [r.name for r in facts.references if r.owner == 0]


def test_functors_that_are_made_and_called_are_references() -> None:
    facts = facts_of(
        """template <typename T> struct sum_functor { void operator()(It& iter) { gpu_kernel(iter, f); } };
void sum(It& iter) { sum_functor<float>{}(iter); dispatch<sum_functor>(iter); }""",
        "aten/src/ATen/native/cuda/a.cu",
    )
    owner = next(i for i, d in enumerate(facts.definitions) if d.name == "sum")
    found = [r.name for r in facts.references if r.owner == owner and r.kind == "address"]
    assert found == ["sum_functor", "sum_functor"]


def test_a_macro_that_a_list_of_another_file_applies() -> None:
    facts = facts_of(
        """namespace at {
#define TENSOR(T, _1) Tensor tensor(ArrayRef<T> values) { return make(values); }
FORALL_TYPES_AND(Bool, TENSOR)
#define CAST(T, name) Tensor cast_##name(const Tensor& x) { return x; }
FORALL_TYPES(CAST)
}"""
    )
    assert [(d.name, d.line) for d in facts.definitions if d.kind == "function"] == [("at::tensor", 3)]


def test_a_macro_around_a_registered_function() -> None:
    facts = facts_of(
        """TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("x", torch::CppFunction::makeFromBoxedFunction<SINGLE_ARG(rule<A, B>)>());
}"""
    )
    assert targets(facts, one(facts, "registration")) == ["rule"]


LONE = """#include "flags.h"
MY_DEFINE_bool(one, true, "…")

// A comment.
define_flag(two, f(1))
namespace mine {
  MY_Define(three)
define_flag(four); // Of another kind.
define_flag(
    five,
    6)

static int x = call(1);
Klass(int);
/* A comment;
commented(out);
*/
Klass
make(int a) { return a; }
template <class T>
Deduced(T) -> Deduced<T>;
static_assert(true);
int body() {
  x = 1;
call(2);
  return x;
}
struct Klass {
  int y;
Klass(int y)
    : y(y) {}
};
}
"""


def test_a_macro_of_any_spelling_outside_of_functions() -> None:
    found = facts_of(LONE)
    uses = sorted((d.line, d.end_line, d.name) for d in found.definitions if d.kind == "macro_use")
    assert uses == [
        (2, 2, "MY_DEFINE_bool"),
        (5, 5, "define_flag"),
        (7, 7, "MY_Define"),
        (8, 8, "define_flag"),
        (9, 11, "define_flag"),
        (14, 14, "Klass"),
    ]
    assert {"mine::make", "mine::body", "mine::Klass::Klass"} <= set(names(found, "function"))
    # What stands in an argument is read as well.
    assert [r.name for r in found.references if r.kind == "call"] == ["call", "call", "f"]


MEMBERS = """#include "field.h"
class KLASS : public Base {
 public:
  KLASS(int size);
  KLASS(const KLASS&) = delete;
  ~KLASS();
  operator bool() const;
  FIELD(int, size);
  FIELD(int, groups) = 1;
  MY_field(std::optional<int>, steps) = std::nullopt;
  FIELD(pair<int>, both){1};
  FIELD(Tensor, weight) = Tensor();

 protected:
  // Without a semicolon.
  NOT_COPIED(KLASS)
  member_of(int, best);
  member_of(int, last){3};
  MANY(int,
       first) = {};
  Q_OBJECT
  int plain(int x);
  static SIZE MAX(int a);
  int bits : 3;
  friend class Other;
  friend KLASS make(int size);
  int values[2] = {
    VALUE(1),
    VALUE(2)
  };
  bool defined() const { return CHECKED(size); }
  int body() {
    STATEMENT(size);
    return size;
  }
  union Payload {
    Payload() : number(0) {}
    Payload(const Payload&);
    int number;
  };
};
struct small {
  explicit small(int x);
  small(float x) : x(x) {}
  small(double x);
  struct inner { inner(); small(char x); };
  LAST(small);
};
struct Packed { PACKED(int, one); PACKED(int, two); };
"""


def test_the_use_of_a_macro_in_a_class_is_no_member() -> None:
    found = facts_of(MEMBERS, "c10/members.h")
    uses = [d for d in found.definitions if d.kind == "macro_use"]
    assert sorted((d.line, d.end_line, d.name) for d in uses) == [
        (8, 8, "FIELD"),
        (9, 9, "FIELD"),
        (10, 10, "MY_field"),
        (11, 11, "FIELD"),
        (12, 12, "FIELD"),
        (16, 16, "NOT_COPIED"),
        (17, 17, "member_of"),
        (18, 18, "member_of"),
        (19, 20, "MANY"),
        (47, 47, "LAST"),
        (49, 49, "PACKED"),
        (49, 49, "PACKED"),
    ]
    assert all(d.body for d in uses)
    assert {found.definitions[d.scope].name for d in uses} == {"KLASS", "small", "Packed"}
    many = next(d for d in uses if d.name == "MANY")
    assert many.detail == {"arguments": ["int", "first"], "namespace": "KLASS"}
    functions = [(d.line, d.name) for d in found.definitions if d.kind == "function"]
    assert [line for line, name in functions if name == "KLASS::KLASS"] == [4]
    assert {"KLASS::~KLASS", "KLASS::plain", "KLASS::MAX", "KLASS::body", "KLASS::defined"} <= {
        n for _, n in functions
    }
    assert [line for line, name in functions if name == "small::small"] == [43, 44, 45]
    assert not {name for _, name in functions} & {"KLASS::Tensor", "KLASS::member_of", "small::LAST"}


def test_a_list_of_tags_is_no_function() -> None:
    facts = facts_of('TORCH_LIBRARY(q, m) { m.def(SCHEMA("f(Tensor x) -> Tensor"), {at::Tag::core}); }')
    schema = one(facts, "schema")
    assert (schema.name, schema.dispatch_key, targets(facts, schema)) == ("q::f", "", [])


def test_guards_are_noted_and_include_guards_are_not() -> None:
    facts = facts_of(
        """#ifndef HEADER_H
#define HEADER_H
#if AT_MKLDNN_ENABLED()
int a() { return 1; }
#else
int b() { return 1; }
#endif
#if !AT_CUDNN_ENABLED()
int e() { return 1; }
#else
int f() { return 1; }
#endif
#ifdef __AVX__
#ifndef _WIN32
int c() { return 1; }
#endif
#endif
int d() { return 1; }
#endif"""
    )
    assert {d.name: d.guard for d in facts.definitions if d.kind == "function"} == {
        "a": "AT_MKLDNN_ENABLED()",
        "b": "!AT_MKLDNN_ENABLED()",
        "e": "!AT_CUDNN_ENABLED()",
        "f": "AT_CUDNN_ENABLED()",
        "c": "defined(__AVX__) && !defined(_WIN32)",
        "d": "",
    }


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"\x7fELF\0\0\0", "binary"),
        ("int f() { return 1; }".encode("utf-16"), "encoding"),
    ],
)
def test_what_is_no_text_is_a_problem(data: bytes, kind: str) -> None:
    facts = facts_of(data)
    assert [p.kind for p in facts.problems] == [kind]


def test_utf16_is_read_all_the_same() -> None:
    assert names(facts_of("int f() { return 1; }".encode("utf-16")), "function") == ["f"]


def test_ten_thousand_nested_braces() -> None:
    text = "int f() " + "{" * 10_000 + "}" * 10_000 + "\nint g() { return 1; }"
    assert "g" in names(facts_of(text), "function")


def test_a_macro_that_doubles_itself_stops() -> None:
    lines = ["#define A0(x) x x x x x x x x"]
    lines += [
        f"#define A{n}(x) A{n - 1}(x) A{n - 1}(x) A{n - 1}(x) A{n - 1}(x) A{n - 1}(x)" for n in range(1, 12)
    ]
    facts = facts_of("\n".join([*lines, "A11(int f() {})", "int g() { return 1; }"]))
    assert "g" in names(facts, "function")


def test_macros_without_parameters_are_known_but_not_what_guards_a_header() -> None:
    text = """#ifndef A_H
#define A_H
#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif
#ifndef lane_count
#define lane_count 16
#endif
#endif
"""
    for path in ("a.h", "a.cu"):
        found = [d for d in facts_of(text, path=path).definitions if d.kind == "macro"]
        assert [(d.name, d.line, (d.detail or {})["body"]) for d in found] == [
            ("HOST_DEVICE", 4, "__host__ __device__"),
            ("HOST_DEVICE", 6, ""),
            ("lane_count", 9, "16"),
        ]
        assert found[0].guard and all((d.detail or {})["constant"] for d in found)


def test_merge_conflict_markers_lose_nothing_else() -> None:
    text = "int a() { return 1; }\n<<<<<<< HEAD\nint b() { return 1; }\n=======\nint c() { return 1; }\n"
    text += ">>>>>>> x\nint d() { return 1; }"
    assert {"a", "d"} <= set(names(facts_of(text), "function"))


SAMPLE = """namespace at::native {
#define MAKE(n) void n##_k(int a) { use(a); }
MAKE(one)
TORCH_IMPL_FUNC(add_out)(const Tensor& a) { add_stub(a); }
REGISTER_DISPATCH(add_stub, &add_kernel)
TORCH_LIBRARY_IMPL(aten, CPU, m) { m.impl("x", TORCH_FN(f)); m.def("y(Tensor a) -> Tensor"); }
PYBIND11_MODULE(x, m) { m.def("f", &f); py::class_<A>(m, "A").def("b", &A::b); }
static PyMethodDef t[] = {{"a", (PyCFunction)f, 0, nullptr}};
#if defined(A)
int f(int x) { return g<<<1, 2>>>(x); }
#else
struct S : T<S> { int q() { return "\\"(" ; } };
#endif
}
"""


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, len(SAMPLE)),
    st.integers(0, len(SAMPLE)),
    st.binary(max_size=8),
    st.sampled_from(["a.cpp", "a.cu", "a.mm", "a.metal", "a.h"]),
)
def test_cut_and_garbled_text_never_fails(start: int, end: int, noise: bytes, path: str) -> None:
    data = SAMPLE.encode()
    facts = parse(path, data[: min(start, end)] + noise + data[max(start, end) :], load("pytorch"))
    lines = data.count(b"\n") + noise.count(b"\n") + 2
    for definition in facts.definitions:
        assert 1 <= definition.line <= definition.end_line <= lines
        assert -1 <= definition.scope < len(facts.definitions)
    for reference in facts.references:
        assert 1 <= reference.line <= lines and -1 <= reference.owner < len(facts.definitions)


@settings(max_examples=40, deadline=None)
@given(st.permutations(SAMPLE.splitlines(keepends=True)))
def test_shuffled_lines_never_fail(lines: list[str]) -> None:
    facts_of("".join(lines))


def test_the_same_bytes_give_the_same_facts(conventions: Conventions) -> None:
    again = replace(conventions)
    assert parse("a.cpp", SAMPLE.encode(), conventions) == parse("a.cpp", SAMPLE.encode(), again)


def test_a_long_table_of_numbers_is_left_out_and_what_stands_around_it_is_found() -> None:
    rows = "  { 1, -2, 3.5, 4 },\n" * 2000
    text = f"void before() {{ }}\nstatic const int table[][4] = {{\n{rows}}};\nvoid after() {{ call(); }}\n"
    facts = facts_of(text)
    assert names(facts, "function") == ["before", "after"]
    assert [(r.name, r.line) for r in facts.references] == [("call", 2004)]


def test_a_small_name_is_blanked_only_as_a_whole_word() -> None:
    text = "void f(int* restrict a) { }\nvoid restricted(int not_restrict) { }\n"
    assert [d.signature for d in facts_of(text).definitions] == [
        "(int* a) -> void",
        "(int not_restrict) -> void",
    ]


def test_a_comment_may_stand_before_a_schema() -> None:
    source = """TORCH_LIBRARY(ns, m) {
  m.def(TORCH_SELECTIVE_SCHEMA( // old
      "f(Tensor x) "  /* so */ "-> Tensor"));
}
"""
    schema = one(facts_of(source), "schema")
    assert (schema.name, schema.signature) == ("ns::f", "f(Tensor x) -> Tensor")
