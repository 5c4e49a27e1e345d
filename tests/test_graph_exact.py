"""Where a compiler has read a body, its edges are what it says; what it says nothing about stays by name."""

from __future__ import annotations

from collections.abc import Iterable

from tests.facts_view import view_of_sources
from tests.test_graph import MUL, crowd, names
from torchtalkd import keys
from torchtalkd.facts import ExactKind, ExactReference, ExactShare, FiledDefinition
from torchtalkd.frontends.graph_text import graph_text
from torchtalkd.queries.graph import graph
from torchtalkd.store.view import View

Said = tuple[str, int, int, ExactKind, str, str]
"""Body, line, column, kind, name, signature of the target ('' for one outside of the tree)."""


def read(view: View, *said: Said) -> View:
    """The view as if the bodies named had been read, with these references."""
    bodies = {d.fact.name: d for f in view.files() for d in view.definitions_in(f) if not d.fact.declares}
    found: dict[int, list[ExactReference]] = {}
    for body, line, column, kind, name, signature in said:
        target = next(
            (d for f in view.files() for d in view.definitions_in(f) if _is(d, name, signature)), None
        )
        number, path, at = (target.id, target.file.path, target.fact.line) if target else (-1, "", 0)
        reference = ExactReference(line, column, kind, name, number, path, at)
        found.setdefault(bodies[body].id, []).append(reference)

    def exact_in(definition: FiledDefinition) -> tuple[ExactReference, ...] | None:
        return tuple(found[definition.id]) if definition.id in found else None

    def exact_to(definition: FiledDefinition) -> tuple[tuple[FiledDefinition, ExactReference], ...]:
        pairs = ((view.definition(n), r) for n, several in found.items() for r in several)
        return tuple((d, r) for d, r in pairs if d is not None and r.target == definition.id)

    def exact_named(
        definitions: Iterable[FiledDefinition], wanted: tuple[str, ...]
    ) -> dict[int, list[ExactReference]]:
        return {d.id: [r for r in exact_in(d) or () if keys.cpp(r.name) in wanted] for d in definitions}

    for name, value in (("exact_in", exact_in), ("exact_to", exact_to), ("exact_named", exact_named)):
        setattr(view, name, value)
    view.exact_share = lambda: ExactShare(1, 2, 1)  # type: ignore[method-assign]
    return view


def _is(definition: FiledDefinition, name: str, signature: str) -> bool:
    return bool(signature) and definition.fact.name == name and signature in definition.fact.signature


OVERLOADS = {
    "a.cpp": """
void put(int x) {}
void put(double x) {}
void exactly() { put(1.0); }
void by_name() { put(1); }
"""
}


def test_the_overload_that_the_compiler_chose() -> None:
    view = read(view_of_sources(OVERLOADS), ("exactly", 4, 17, "call", "put", "(double"))
    answer = graph(view, "exactly", "calls")
    assert [(n.line, n.ways[0].evidence) for n in answer.nodes if n.level] == [(3, "exact")]
    below = graph(view, "by_name", "calls")
    assert {(n.line, n.ways[0].evidence) for n in below.nodes if n.level} == {
        (2, "candidate"),
        (3, "candidate"),
    }
    above = graph(view, "put")
    ways = {(n.name, w.after, w.evidence) for n in above.nodes for w in n.ways}
    first = next(n.number for n in above.nodes if n.line == 2 and not n.level)
    assert ("exactly", first, "candidate") not in ways
    assert ("by_name", first, "candidate") in ways
    assert "1 of 3 steps exact" in graph_text(above)
    assert "read 1 of 2" in graph_text(above)


def test_a_receiver_that_the_compiler_knows() -> None:
    view = view_of_sources(crowd(9))
    assert "middle" not in names(graph(view, "target", "impact", 4))
    view = read(view_of_sources(crowd(9)), ("middle", 4, 22, "call", "C3::poke", "(int x)"))
    found = graph(view, "target", "impact", 4)
    assert {"middle", "top"} <= names(found)
    assert names(graph(view, "C1::poke")) == set()


def test_what_only_a_compiler_sees_is_there_too() -> None:
    sources = {
        "a.cpp": """
struct T { int v; };
bool operator==(const T& a, const T& b) { return true; }
bool same(const T& a, const T& b) { return a == b; }
"""
    }
    view = read(view_of_sources(sources), ("same", 4, 46, "operator", "operator==", "(const T"))
    assert names(graph(view, "same", "calls")) == {"operator=="}
    assert names(graph(view, "operator==")) == {"same"}


def test_a_generated_function_is_its_operator() -> None:
    line = (
        MUL["aten/src/ATen/native/BinaryOps.cpp"]
        .splitlines()
        .index("Tensor twice(const Tensor& self) { return at::mul_out(self, self, self); }")
    )
    view = read(view_of_sources(MUL), ("at::native::twice", line + 1, 46, "call", "at::mul_out", ""))
    (node,) = (n for n in graph(view, "at::native::twice", "calls").nodes if n.level)
    assert (node.name, node.ways[0].evidence, node.ways[0].through) == ("aten::mul", "exact", "aten::mul.out")
    ways = [w for n in graph(view, "aten::mul").nodes if n.name == "at::native::twice" for w in n.ways]
    assert [way.evidence for way in ways] == ["exact"]


def test_a_virtual_call_reaches_what_overrides_it() -> None:
    sources = {
        "a.cpp": """
struct Base { virtual void go(int x) {} };
struct Left : Base { void go(int x) override {} };
void user(Base* b) { b->go(1); }
"""
    }
    view = read(view_of_sources(sources), ("user", 4, 24, "virtual", "Base::go", "(int x)"))
    ways = {(n.name, w.hop, w.evidence) for n in graph(view, "user", "calls").nodes for w in n.ways}
    assert ways == {("Base::go", "call", "exact"), ("Left::go", "virtual", "candidate")}
    assert names(graph(view, "Left::go")) == {"user"}


def test_what_a_macro_calls_is_exact_where_it_is_used() -> None:
    sources = {
        "a.cpp": """
void put(int x) {}
void put(double x) {}
#define PUT(x) put(x)
void user() { PUT(1.0); }
void other() { PUT(1); }
"""
    }
    view = read(view_of_sources(sources), ("user", 5, 14, "call", "put", "(double"))
    ways = {(n.line, w.hop, w.evidence) for n in graph(view, "user", "calls").nodes for w in n.ways}
    assert ways == {(3, "macro", "exact")}
    above = graph(view, "put")
    first = next(n.number for n in above.nodes if n.line == 2 and not n.level)
    found = {(n.name, w.after == first, w.hop, w.evidence) for n in above.nodes for w in n.ways}
    assert found == {
        ("user", False, "macro", "exact"),
        ("other", True, "macro", "candidate"),
        ("other", False, "macro", "candidate"),
    }


def test_an_object_that_is_called_is_no_function_of_its_name() -> None:
    sources = {
        "a.cpp": """
struct Draw { int operator()(int x) { return x; } };
int normal(int x) { return x; }
int user(Draw normal) { return normal(1); }
"""
    }
    view = read(view_of_sources(sources), ("user", 4, 37, "operator", "Draw::operator()", "(int x)"))
    assert names(graph(view, "user", "calls")) == {"Draw::operator()"}
    assert names(graph(view, "normal")) == set()


def test_a_declaration_that_the_compiler_saw_stands_for_its_body() -> None:
    sources = {
        "a.h": "namespace n { void put(int x); void put(double x); }\n",
        "a.cpp": '#include "a.h"\nvoid n::put(int x) {}\nvoid n::put(double x) {}\n',
        "b.cpp": '#include "a.h"\nvoid user() { n::put(1.0); }\n',
    }
    view = view_of_sources(sources)
    header = view.file("a.h")
    assert header is not None
    declared = next(d for d in view.definitions_in(header) if "double" in d.fact.signature)
    user = next(d for d in view.definitions(keys.cpp("user")))
    said = ExactReference(2, 17, "call", "n::put", declared.id, "a.h", 1)

    def exact_in(definition: FiledDefinition) -> tuple[ExactReference, ...] | None:
        return (said,) if definition.id == user.id else None

    def exact_to(definition: FiledDefinition) -> tuple[tuple[FiledDefinition, ExactReference], ...]:
        return ((user, said),) if definition.id == declared.id else ()

    view = read(view)
    for name, value in (("exact_in", exact_in), ("exact_to", exact_to)):
        setattr(view, name, value)
    below = [(n.file, n.line, n.ways[0].evidence) for n in graph(view, "user", "calls").nodes if n.level]
    assert below == [("a.cpp", 3, "exact")]
    above = graph(view, "n::put")
    second = next(n.number for n in above.nodes if n.file == "a.cpp" and n.line == 3)
    assert {(w.after, w.evidence) for n in above.nodes for w in n.ways} == {(second, "exact")}


def test_the_call_operator_of_a_stub_is_the_stub() -> None:
    source = MUL["aten/src/ATen/native/BinaryOps.cpp"]
    line = next(n for n, text in enumerate(source.splitlines(), 1) if "mul_stub(device_type" in text)
    sources = {**MUL, "s.h": "struct DispatchStub { void operator()(int x) {} };\n"}
    view = read(
        view_of_sources(sources),
        ("at::native::mul_out", line, 10, "operator", "DispatchStub::operator()", "(int x)"),
    )
    assert "DispatchStub::operator()" not in names(graph(view, "at::native::mul_out", "calls"))
