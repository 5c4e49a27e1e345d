"""graph on small trees: each kind of hop, both ways, and where a walk ends."""

from __future__ import annotations

import pytest

from tests.facts_view import view_of_sources
from torchtalkd.frontends.graph_text import dot, graph_text, mermaid
from torchtalkd.queries.callees import callees
from torchtalkd.queries.callers import callers
from torchtalkd.queries.edges import Edge
from torchtalkd.queries.graph import GraphAnswer, as_json, graph
from torchtalkd.queries.graph_walk import MOST_PASSED
from torchtalkd.store.view import View

YAML = "aten/src/ATen/native/native_functions.yaml"
DERIVATIVES = "tools/autograd/derivatives.yaml"

MUL = {
    YAML: """
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
  structured_delegate: mul.out
  variants: function, method

- func: mul_.Tensor(Tensor(a!) self, Tensor other) -> Tensor(a!)
  structured_delegate: mul.out
  variants: method

- func: mul.out(Tensor self, Tensor other, *, Tensor(a!) out) -> Tensor(a!)
  structured: True
  structured_inherits: TensorIteratorBase
  dispatch:
    CPU, CUDA: mul_out

- func: square_sum(Tensor self) -> Tensor
  variants: function, method
  dispatch:
    CompositeImplicitAutograd: square_sum
""",
    DERIVATIVES: """
- name: mul.Tensor(Tensor self, Tensor other) -> Tensor
  self: mul_backward_of(grad, other)
  other: grad.square_sum()
""",
    "torch/csrc/autograd/FunctionsManual.cpp": """
namespace torch::autograd::generated::details {
Tensor mul_backward_of(const Tensor& grad, const Tensor& other) { return at::mul(grad, other); }
}
""",
    "aten/src/ATen/TensorIterator.h": """
namespace at {
struct TensorIteratorBase { void build_binary_op(int a); void numel_of() {} };
}
""",
    "aten/src/ATen/native/BinaryOps.h": """
DECLARE_DISPATCH(void(*)(TensorIteratorBase&), mul_stub)
""",
    "aten/src/ATen/native/BinaryOps.cpp": """
#include <ATen/TensorIterator.h>
namespace at::meta {
TORCH_META_FUNC2(mul, Tensor) (const Tensor& self, const Tensor& other) { build_binary_op(1); }
}
namespace at {
void TensorIteratorBase::build_binary_op(int a) { numel_of(); }
}
namespace at::native {
DEFINE_DISPATCH(mul_stub);
TORCH_IMPL_FUNC(mul_out) (const Tensor& self, const Tensor& other, const Tensor& result) {
  mul_stub(device_type(), *this);
}
Tensor square_sum(const Tensor& self) { return at::_ops::mul_Tensor::call(self, self); }
Tensor twice(const Tensor& self) { return at::mul_out(self, self, self); }
Tensor chained(const Tensor& self) { return self.mul(self); }
}
""",
    "aten/src/ATen/native/cpu/BinaryOpsKernel.cpp": """
#include <ATen/native/BinaryOps.h>
namespace at::native { namespace {
void mul_kernel(TensorIteratorBase& iter) { cpu_kernel(iter, [](float a) { return helper(a); }); }
float helper(float a) { return a; }
}
REGISTER_DISPATCH(mul_stub, &mul_kernel)
}
""",
    "aten/src/ATen/native/cuda/BinaryMulKernel.cu": """
#include <ATen/native/BinaryOps.h>
namespace at::native {
void mul_kernel_cuda(TensorIteratorBase& iter) {}
REGISTER_DISPATCH(mul_stub, &mul_kernel_cuda)
}
""",
    "torch/nn/modules/thing.py": """
import torch
class Thing:
    def forward(self, x):
        return torch.mul(x, x)
def use(x):
    return Thing().forward(x)
""",
}


@pytest.fixture(scope="module")
def mul() -> View:
    return view_of_sources(MUL)


def names(answer: GraphAnswer, level: int = 0) -> set[str]:
    """The nodes besides the starts, or those of one level."""
    return {n.name for n in answer.nodes if (n.level == level if level else n.level > 0)}


def hops(answer: GraphAnswer) -> set[str]:
    """How the nodes are reached: `name hop through`."""
    return {f"{n.name} {w.hop} {w.through}".rstrip() for n in answer.nodes for w in n.ways}


def of(sources: dict[str, str], name: str, mode: str = "callers") -> set[str]:
    """The nodes next to a name in a tree of its own."""
    return names(graph(view_of_sources(sources), name, mode))


def test_a_stub_both_ways(mul: View) -> None:
    assert hops(graph(mul, "mul_kernel")) == {"at::native::mul_out stub mul_stub · CPU"}
    assert hops(graph(mul, "mul_kernel_cuda")) == {"at::native::mul_out stub mul_stub · CUDA"}
    down = {"at::native::mul_kernel stub mul_stub · CPU", "at::native::mul_kernel_cuda stub mul_stub · CUDA"}
    assert down <= hops(graph(mul, "mul_out", "calls"))
    assert names(graph(mul, "mul_stub")) == {"at::native::mul_out"}
    assert names(graph(mul, "mul_stub", "calls")) == {"at::native::mul_kernel", "at::native::mul_kernel_cuda"}


def test_the_dispatcher_both_ways(mul: View) -> None:
    above = graph(mul, "at::native::mul_out")
    assert names(above) == {"aten::mul", "aten::mul_"}
    assert "aten::mul_ dispatcher aten::mul_.Tensor · CUDA" in hops(above)
    below = graph(mul, "aten::mul", "calls")
    assert {"at::native::mul_out", "at::meta::mul_Tensor"} <= names(below)
    assert names(graph(mul, "at::meta::mul_Tensor")) == {"aten::mul", "aten::mul_"}


def test_an_operator_is_called_by_each_of_its_names(mul: View) -> None:
    called = graph(mul, "aten::mul")
    assert {"at::native::square_sum", "at::native::twice", "at::native::chained"} <= names(called)
    assert "at::native::square_sum dispatcher aten::mul.Tensor" in hops(called)
    assert "torch.nn.modules.thing.Thing.forward" not in names(called)
    in_python = graph(mul, "aten::mul", walk_python=True)
    assert "torch.nn.modules.thing.Thing.forward" in names(in_python)


def test_formulas_both_ways(mul: View) -> None:
    formula = "torch::autograd::generated::details::mul_backward_of"
    assert f"{formula} autograd MulBackward0" in hops(graph(mul, "aten::mul", "calls"))
    assert names(graph(mul, formula)) == {"aten::mul", "aten::mul_"}
    assert "aten::mul autograd MulBackward0" in hops(graph(mul, "aten::square_sum"))


def test_impact_goes_on_level_by_level(mul: View) -> None:
    far = graph(mul, "mul_kernel", "impact", 3)
    assert names(far, 1) == {"at::native::mul_out"}
    assert names(far, 2) == {"aten::mul", "aten::mul_"}
    assert {"at::native::square_sum", "at::native::twice"} <= names(far, 3)
    assert far.depth == 3
    assert not any(n.level > 1 for n in graph(mul, "mul_kernel", "callers", 3).nodes)
    assert any(n.level > 1 for n in graph(mul, "mul_kernel", "callers", 3, each_level=True).nodes)


def test_a_walk_stops_behind_a_level_that_is_too_wide_unless_the_whole_is_wanted() -> None:
    many = "".join(f"void caller_{n}() {{ base(); }}\n" for n in range(MOST_PASSED + 1))
    view = view_of_sources({"a.cpp": f"void base() {{}}\n{many}void outer() {{ caller_0(); }}\n"})
    narrow = graph(view, "base", "impact", 2)
    assert (narrow.stopped, narrow.walked, narrow.total) == (True, 1, MOST_PASSED + 1)
    text = graph_text(narrow)
    assert f"at least {MOST_PASSED + 1}" in text and "stopped behind level 1" in text
    whole = graph(view, "base", "impact", 2, whole=True)
    assert (whole.stopped, whole.walked) == (False, 2)
    assert names(whole, 2) == {"outer"}


def test_the_focus_full_says_how_python_gets_there(mul: View) -> None:
    said = {entry.name for entry in graph(mul, "mul_kernel", "impact", 2, focus="full").python}
    assert {"torch.mul", "torch.Tensor.mul_"} <= said


def test_a_lambda_belongs_to_the_function_around_it(mul: View) -> None:
    assert names(graph(mul, "helper")) == {"at::native::mul_kernel"}


def test_a_structured_body_sees_what_its_class_inherits(mul: View) -> None:
    answer = graph(mul, "at::TensorIteratorBase::build_binary_op")
    assert names(answer) == {"at::meta::mul_Tensor"}
    assert answer.nodes[-1].ways[0].evidence == "unique"


def test_python_is_walked_from_python(mul: View) -> None:
    assert names(graph(mul, "torch.nn.modules.thing.Thing.forward", "calls")) == {"aten::mul"}


def test_who_makes_an_object_of_python_calls_its_constructor() -> None:
    sources = {
        "m.py": "class Thing:\n    def __init__(self):\n        helper()\ndef helper():\n    pass\n",
        "u.py": "from m import Thing\ndef use():\n    return Thing()\n",
    }
    view = view_of_sources(sources)
    assert hops(graph(view, "m.Thing.__init__")) == {"u.use construct"}
    assert names(graph(view, "m.helper", "impact", 2)) == {"m.Thing.__init__", "u.use"}


def test_a_static_function_answers_its_own_file_only() -> None:
    sources = {
        "a.cpp": "static void work() {}\nvoid first() { work(); }\n",
        "b.cpp": "static void work() {}\nvoid second() { work(); }\n",
        "c.cpp": "void third() { work(); }\n",
    }
    answer = graph(view_of_sources(sources), "work")
    by_file = {n.name: [w.after for w in n.ways] for n in answer.nodes if n.level}
    assert set(by_file) == {"first", "second"}
    assert all(len(after) == 1 for after in by_file.values())


def test_a_declaration_does_not_steal_from_the_definition() -> None:
    sources = {
        "a.h": "void work(int x);\n",
        "a.cpp": '#include "a.h"\nvoid work(int x) {}\n',
        "b.cpp": '#include "a.h"\nvoid user() { work(1); }\n',
    }
    answer = graph(view_of_sources(sources), "user", "calls")
    assert [(n.name, n.file) for n in answer.nodes if n.level] == [("work", "a.cpp")]


def test_a_macro_is_not_the_function_that_has_its_name() -> None:
    sources = {
        "a.h": "#define work(x) other(x)\n",
        "a.cpp": "void other(int x) {}\nvoid work(int x) {}\n",
        "b.cpp": '#include "a.h"\nvoid other(int);\nvoid user() { work(1); }\n',
        "c.cpp": "void work(int x);\nvoid plain() { work(1); }\n",
    }
    assert of(sources, "user", "calls") == {"other"}
    found = names(graph(view_of_sources(sources), "work"))
    assert "plain" in found


def test_what_a_macro_calls_is_called_by_who_uses_it() -> None:
    sources = {
        "a.cpp": "void log_it(int x) {}\n#define LOG_IT(x) log_it(x)\nvoid user() { LOG_IT(1); }\n",
    }
    assert of(sources, "log_it") == {"user"}
    assert of(sources, "user", "calls") == {"log_it"}
    assert of(sources, "LOG_IT") == {"user"}


def test_a_macro_that_is_defined_again_is_another_one() -> None:
    sources = {
        "a.cpp": """
void one() {}
void two() {}
#define DO_IT() one()
void first() { DO_IT(); }
#undef DO_IT
#define DO_IT() two()
void second() { DO_IT(); }
""",
    }
    assert of(sources, "one") == {"first"}
    assert of(sources, "two") == {"second"}


def test_a_function_handed_to_a_macro_is_a_reference() -> None:
    sources = {
        "m.h": "#define RUN(f) run_somewhere(f)\n",
        "a.cpp": '#include "m.h"\nvoid job() {}\nvoid user(int size) { RUN(job); RUN(size); }\n',
    }
    answer = graph(view_of_sources(sources), "job")
    assert {(n.name, w.hop) for n in answer.nodes for w in n.ways} == {("user", "address")}


def test_launches_plain_and_in_macros() -> None:
    sources = {
        "k.cu": """
template <typename T> __global__ void first(T* x) {}
__global__ void second(int n) {}
void host() { first<float><<<1, 2>>>(0); }
void hidden() {
#define GO(n) second<<<1, 2>>>(n)
  GO(1);
}
"""
    }
    view = view_of_sources(sources)
    assert hops(graph(view, "first")) == {"host launch"}
    assert names(graph(view, "second")) == {"hidden"}
    assert names(graph(view, "hidden", "calls")) == {"second"}


CLASSES = {
    "c.h": """
struct Base { virtual void go(int x) { } void run() { go(1); } };
struct Left : Base { void go(int x) override { left(); } };
struct Adder { Adder(int n) {} int operator()(int x) const { return x; } };
struct Guard { Guard() {} };
void left();
""",
    "c.cpp": """
#include "c.h"
void left() {}
void use() { Adder a(1); Guard guard; }
void hand() { apply_all(Adder(2)); }
""",
}


def test_an_override_may_be_what_a_call_in_the_base_runs() -> None:
    view = view_of_sources(CLASSES)
    answer = graph(view, "Left::go")
    assert {(n.name, w.hop, w.evidence) for n in answer.nodes for w in n.ways} == {
        ("Base::run", "virtual", "candidate")
    }
    assert names(graph(view, "Base::go")) == {"Base::run"}


def test_constructors_and_call_operators() -> None:
    view = view_of_sources(CLASSES)
    assert names(graph(view, "Adder::Adder")) == {"use", "hand"}
    assert hops(graph(view, "Adder::operator()")) == {"use functor", "hand functor"}
    assert names(graph(view, "Guard::Guard")) == {"use"}
    assert names(graph(view, "Adder")) == {"use", "hand"}


def test_a_method_that_a_class_inherits_is_found_by_the_class() -> None:
    assert graph(view_of_sources(CLASSES), "Left::run").nodes[0].name == "Base::run"


def test_recursion_and_cycles_end() -> None:
    sources = {"a.cpp": "void b();\nvoid a() { a(); b(); }\nvoid b() { a(); }\n"}
    answer = graph(view_of_sources(sources), "a", "impact", 5)
    assert names(answer) == {"b"}
    assert [w.line for w in answer.nodes[0].ways] == [2]
    assert "calls itself" in graph_text(answer)


def crowd(many: int) -> dict[str, str]:
    """As many classes with a method of one name, and a function that calls it of who knows which."""
    classes = "".join(f"struct C{i} {{ void poke(int x) {{ target(); }} }};\n" for i in range(many))
    return {
        "c.h": f"void target();\n{classes}",
        "c.cpp": """
#include "c.h"
void target() {}
void middle(T x) { x->poke(1); }
void top() { middle(0); }
""",
    }


def test_a_walk_ends_at_a_name_that_may_mean_many_things() -> None:
    few, many = view_of_sources(crowd(3)), view_of_sources(crowd(9))
    assert {"middle", "top"} <= names(graph(few, "target", "impact", 4))
    answer = graph(many, "C1::poke", "impact", 3)
    assert names(answer) == {"middle"}
    assert answer.crowded == 1
    assert "may mean more than 8" in graph_text(answer)
    assert "middle" not in names(graph(many, "target", "impact", 4))
    assert {"middle", "top"} <= names(graph(many, "target", "impact", 4, fuzzy_all_levels=True))


def test_arguments_tell_methods_apart() -> None:
    sources = {
        "c.h": "struct A { void poke() {} };\nstruct B { void poke(int a, int b = 1) {} };\n",
        "c.cpp": '#include "c.h"\nvoid none(T x) { x.poke(); }\nvoid one(T x) { x.poke(1); }\n',
    }
    view = view_of_sources(sources)
    assert names(graph(view, "A::poke")) == {"none"}
    assert names(graph(view, "B::poke")) == {"one"}


def test_a_pybind_name_leads_to_what_it_binds() -> None:
    sources = {
        "m.cpp": 'int work(int x) { return x; }\nPYBIND11_MODULE(ext, m) { m.def("go", &work); }\n',
        "user.py": "import ext\ndef f():\n    return ext.go(1)\n",
    }
    view = view_of_sources(sources)
    assert hops(graph(view, "work", walk_python=True)) == {"ext.go python binding ext.go"}
    assert names(graph(view, "work", "impact", 2, walk_python=True)) == {"ext.go", "user.f"}
    assert names(graph(view, "work")) == set()
    assert [entry.name for entry in graph(view, "work", focus="full").python] == ["ext.go"]


def test_a_lambda_of_a_registration_is_the_operators() -> None:
    sources = {
        "r.cpp": """
Tensor helper(Tensor x) { return x; }
TORCH_LIBRARY(my, m) { m.def("f(Tensor x) -> Tensor"); }
TORCH_LIBRARY_IMPL(my, CPU, m) { m.impl("f", [](Tensor x) { return helper(x); }); }
"""
    }
    assert names(graph(view_of_sources(sources), "helper", "impact", 1)) == {"my::f"}


def test_code_of_the_interpreters_operators_is_theirs() -> None:
    sources = {
        "r.cpp": """
void helper(int x) {}
RegisterOperators reg({Operator(
    "prim::f(Tensor x) -> Tensor",
    [](Stack& stack) {
      helper(1);
    },
    aliasAnalysisSpecialCase())});
void other() { helper(2); }
"""
    }
    assert of(sources, "helper") == {"prim::f", "other"}
    assert of(sources, "prim::f", "calls") == {"helper"}


def test_a_function_of_the_file_handed_on_without_an_ampersand() -> None:
    sources = {
        "a.cpp": """
static void worker(int x) {}
static int count_of(int x) { return x; }
void start() { run_all(0, 4, worker); }
void plain(int count_of) { run_all(0, count_of); }
""",
    }
    view = view_of_sources(sources)
    assert hops(graph(view, "worker")) == {"start address"}
    assert names(graph(view, "count_of")) == set()


def test_a_namespace_by_another_name() -> None:
    sources = {
        "f.h": "namespace torch::nn::functional { inline void pad(int x) {} }\n",
        "other.h": "namespace other { inline void pad(int x) {} }\n",
        "a.cpp": """
#include "f.h"
#include "other.h"
namespace F = torch::nn::functional;
void user() { F::pad(1); }
""",
    }
    assert of(sources, "user", "calls") == {"torch::nn::functional::pad"}
    assert of(sources, "torch::nn::functional::pad") == {"user"}
    assert of(sources, "other::pad") == set()


def test_code_handed_to_a_macro_at_file_scope_is_its_uses() -> None:
    sources = {
        "r.cpp": """
namespace jit {
void helper(int x) {}
REGISTER_FUNCTOR(
    aten::thing,
    aten_thing,
    [](Node* n) -> SROperator {
      return [](ProcessedNode* p) { helper(1); at::native::deep(p->size()); };
    })
void other() { helper(2); }
}
"""
    }
    assert of(sources, "helper") == {"REGISTER_FUNCTOR(aten::thing, aten_thing)", "jit::other"}


def test_what_is_made_by_name_is_made_here() -> None:
    sources = {
        "a.h": "struct Base { Base(int x) {} };\nstruct Node : Base { Node(int x) : Base(x) {} };\n",
        "a.cpp": '#include "a.h"\nvoid f() { auto n = std::make_shared<Node>(1); }\n',
    }
    assert of(sources, "Node::Node") == {"f"}
    assert of(sources, "Base::Base") == {"Node::Node"}


def test_wrong_questions_say_what_is_allowed(mul: View) -> None:
    assert "callers, calls, impact" in graph(mul, "mul_out", "upwards").error
    assert "1 to 5" in graph(mul, "mul_out", "impact", 6).error
    assert "full" in graph(mul, "mul_out", focus="python").error
    missing = graph(mul, "mul_kernle")
    assert not missing.found
    assert "mul_kernel" in missing.nearest
    assert "mul_kernel" in graph_text(missing)


def test_text_and_graphs(mul: View) -> None:
    answer = graph(mul, "mul_kernel", "impact", 3)
    text = graph_text(answer)
    assert "level 1 (1)" in text
    assert "stub mul_stub · CPU" in text
    assert len(text.encode()) < 10_000
    first = next(n for n in answer.nodes if n.name == "at::native::mul_out").number
    assert f"n{first} -->|stub| n1" in mermaid(answer)
    assert f'n{first} -> n1 [label="stub"]' in dot(answer)
    down = graph(mul, "mul_out", "calls")
    assert "n1 -->|stub|" in mermaid(down)
    assert as_json(answer, 1)["shown"] == 1
    assert as_json(answer)["total"] == answer.total


def test_up_and_down_are_the_same_edges(mul: View) -> None:
    def keyed(edge: Edge, caller: int, called: int) -> tuple[int, int, str, str, int]:
        return caller, called, edge.hop, edge.file, edge.line

    bodies = [
        d
        for file in mul.files()
        for d in mul.definitions_in(file)
        if d.fact.kind in ("function", "structured_impl", "structured_meta") and not d.fact.declares
    ]
    own = {d.id for d in bodies}
    down = {keyed(e, d.id, e.other.id) for d in bodies for e in callees(mul, d) if e.other.id in own}
    up = {
        keyed(e, e.other.id, d.id) for d in bodies for e in callers(mul, d, python=True) if e.other.id in own
    }
    assert down == up


def test_who_calls_an_operator_that_only_python_can_call_is_found_without_asking() -> None:
    """An extension's operator has no function in C++ that torchgen made of it."""
    view = view_of_sources(
        {
            "a.cpp": 'TORCH_LIBRARY(ext, m) { m.def("turn(Tensor x) -> Tensor"); }\n',
            "pkg/b.py": "import torch\n\ndef spin(x):\n    return torch.ops.ext.turn(x)\n",
        }
    )
    answer = graph(view, "ext::turn")
    assert [node.name for node in answer.nodes if node.level] == ["pkg.b.spin"]
