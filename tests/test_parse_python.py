"""What `parse_python` reads from one Python file."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from torchtalkd.conventions.values import Conventions, Python, PythonBinding, PythonLayer
from torchtalkd.facts import Definition, FileFacts, Reference
from torchtalkd.parse.python import parse_python
from torchtalkd.parse.python_names import imported_module, module_name, package_of

BINDINGS = (
    PythonBinding("docs", "_add_docstr", "docs", 0, "py", target=""),
    PythonBinding("tensor_docs", "add_docstr_all", "docs", 0, "py", target="", prefix="torch.Tensor."),
    PythonBinding("decomposition", "register_decomposition", "decomposition"),
    PythonBinding("lowering", "register_lowering", "lowering"),
    PythonBinding("py_impl", "py_impl", "registration", "receiver", dispatch_key=0),
    PythonBinding("library_impl", "impl", "registration", 0, target=1, dispatch_key=2, library="receiver"),
    PythonBinding("library_impl_on", "impl", "registration", 1, dispatch_key=2, library=0),
    PythonBinding("library_impl_name", "impl", "registration", 0, dispatch_key=1),
    PythonBinding("library_define", "define", "schema", 0, target="", library="receiver"),
    PythonBinding("custom_op", "custom_op", "schema"),
    PythonBinding("fake", "register_fake", "meta"),
    PythonBinding("fake_on", "register_fake", "meta", "receiver", "py"),
    PythonBinding("onnx", "_onnx_symbolic", "onnx"),
    PythonBinding(
        "opinfo",
        "*Info",
        "test",
        0,
        "test",
        target="op",
        keywords=("aten_name", "aliases", "variant_test_name"),
        paths=("torch/testing/**",),
    ),
)
LAYERS = (PythonLayer("refs", "torch/_refs/**", "ref"),)
CONVENTIONS = Conventions(
    "pytorch", 1, python=Python(("", "src"), BINDINGS, LAYERS, ("Library", "_scoped_library"))
)


def parse(source: str | bytes, path: str = "torch/nn/modules/act.py", role: str = "library") -> FileFacts:
    data = source.encode() if isinstance(source, str) else source
    return parse_python(path, data, CONVENTIONS, "python", role)


def definitions(facts: FileFacts, *kinds: str) -> dict[str, Definition]:
    return {d.name: d for d in facts.definitions if not kinds or d.kind in kinds}


def uses(facts: FileFacts, *kinds: str) -> list[tuple[str, str, str, int]]:
    """Kind, key, name and line."""
    return [(r.kind, r.key, r.name, r.line) for r in facts.references if r.kind in kinds]


def names(facts: FileFacts, kind: str) -> list[str]:
    return [r.name for r in facts.references if r.kind == kind]


def targets(facts: FileFacts, definition: Definition) -> list[Reference]:
    ordinal = facts.definitions.index(definition)
    return [r for r in facts.references if r.owner == ordinal and r.kind == "target"]


def bound(facts: FileFacts, kind: str) -> list[tuple[str, str, str, str, list[str]]]:
    """Key, name, dispatch key, convention and targets of each binding of a kind."""
    return [
        (d.key, d.name, d.dispatch_key, d.convention, [t.name for t in targets(facts, d)])
        for d in facts.definitions
        if d.kind == kind
    ]


@pytest.mark.parametrize(
    ("path", "module", "package"),
    [
        ("torch/nn/functional.py", "torch.nn.functional", "torch.nn"),
        ("torch/nn/__init__.py", "torch.nn", "torch.nn"),
        ("src/vision/ops.py", "vision.ops", "vision"),
        ("srcs/a.py", "srcs.a", "srcs"),
        ("setup.py", "setup", ""),
        ("__init__.py", "__init__", "__init__"),
        ("torch/__init__.pyi", "torch", "torch"),
    ],
)
def test_module_names(path: str, module: str, package: str) -> None:
    assert module_name(path, ("", "src")) == module
    assert package_of(path, module) == package


@pytest.mark.parametrize(
    ("written", "full"),
    [
        (".", "a.b"),
        (".x", "a.b.x"),
        ("..", "a"),
        ("..x.y", "a.x.y"),
        ("...x", "x"),
        ("....x", "x"),
        ("x", "x"),
    ],
)
def test_relative_imports(written: str, full: str) -> None:
    assert imported_module(written, "a.b") == full


def test_definitions() -> None:
    facts = parse(
        """
import functools
def outer(a, *, b: int = 3) -> int:
    def inner(x): ...
    return inner(a)
class A(Base, metaclass=M):
    @functools.wraps(outer)
    @staticmethod
    def f(self,
          x):
        pass
    async def g(self): pass
    class B: pass
if True:
    def late(): pass
"""
    )
    found = definitions(facts, "function", "class", "module")
    m = "torch.nn.modules.act"
    assert list(found) == [
        m,
        f"{m}.outer",
        f"{m}.outer.inner",
        f"{m}.A",
        f"{m}.A.f",
        f"{m}.A.g",
        f"{m}.A.B",
        f"{m}.late",
    ]
    assert found[m][:7] == ("py:act", m, "module", 1, 0, 15, -1)
    assert found[f"{m}.outer"].signature == "(a, *, b: int = 3)"
    assert found[f"{m}.A.f"].signature == "(self, x)"
    assert found[f"{m}.A.f"].detail == {"decorators": ["functools.wraps", "staticmethod"]}
    assert (found[f"{m}.A.f"].line, found[f"{m}.A.f"].column, found[f"{m}.A.f"].end_line) == (9, 8, 11)
    parents = {d.name: facts.definitions[d.scope].name for d in found.values() if d.scope >= 0}
    assert parents[f"{m}.outer.inner"] == f"{m}.outer"
    assert parents[f"{m}.A.f"] == f"{m}.A"
    assert parents[f"{m}.late"] == m
    assert uses(facts, "base") == [("base", "py:Base", "Base", 6)]


def test_calls_follow_imports() -> None:
    facts = parse(
        """
import torch
import torch.nn.functional as F
import numpy.linalg
from torch import Tensor as T, nn
from .. import utils
from .linear import Linear
def helper(): pass
def run(x, self):
    torch.relu(x)
    F.relu(x, inplace=True)
    numpy.linalg.det(x)
    nn.init.zeros_(x)
    utils.go()
    Linear(1, 2).forward(x)
    T.add(x, 1)
    x.add(1).sum(*x)
    self.step(x)
    cls.make()
    super().step()
    helper()
    len(x)
    unknown(x)
    any(y for y in helper(z for z in x))
    " ".join(x)
"""
    )
    assert uses(facts, "call", "method") == [
        ("call", "py:relu", "torch.relu", 10),
        ("call", "py:relu", "torch.nn.functional.relu", 11),
        ("call", "py:det", "numpy.linalg.det", 12),
        ("call", "py:zeros_", "torch.nn.init.zeros_", 13),
        ("call", "py:go", "torch.nn.utils.go", 14),
        ("method", "attr:forward", "forward", 15),
        ("call", "py:Linear", "torch.nn.modules.linear.Linear", 15),
        ("call", "py:add", "torch.Tensor.add", 16),
        ("method", "attr:sum", "sum", 17),
        ("method", "attr:add", "add", 17),
        ("method", "attr:step", "self.step", 18),
        ("method", "attr:make", "self.make", 19),
        ("method", "attr:step", "super().step", 20),
        ("call", "py:helper", "torch.nn.modules.act.helper", 21),
        ("call", "py:helper", "torch.nn.modules.act.helper", 24),
    ]
    by_name = {r.name: r for r in facts.references}
    assert by_name["torch.relu"].column == 4
    assert by_name["add"].column == 6
    assert by_name["self.step"].column == 4
    assert by_name["super().step"].column == 12
    assert facts.definitions[by_name["torch.relu"].owner].name == "torch.nn.modules.act.run"


def test_values() -> None:
    facts = parse(
        """
import torch
from m import imported
def local_function(): pass
x = [torch.add, imported, local_function, len]
def run(arg=torch.float32):
    fn = torch.mul
    f(torch.sub, key=imported, other=arg)
    return torch.ops.aten.add.Tensor
@torch.jit.script
def g(): pass
"""
    )
    assert [(k, n) for _, k, n, _ in uses(facts, "address")] == [
        ("py:add", "torch.add"),
        ("py:imported", "m.imported"),
        ("py:local_function", "torch.nn.modules.act.local_function"),
        ("py:float32", "torch.float32"),
        ("py:mul", "torch.mul"),
        ("py:sub", "torch.sub"),
        ("py:imported", "m.imported"),
        ("op:add", "torch.ops.aten.add.Tensor"),
        ("py:script", "torch.jit.script"),
    ]


def test_locals_hide_names_of_the_module() -> None:
    facts = parse(
        """
from m import op, other, third
def f(op): op(1); g(op)
def g(x):
    other = x
    other()
    def inner(): other()
def h(): op(); other()
def k():
    from n import third
    third()
    def inner(): third()
    class C:
        def third(self): third()
def last(): third()
"""
    )
    assert names(facts, "call") == [
        "torch.nn.modules.act.g",
        "m.op",
        "m.other",
        "n.third",
        "n.third",
        "n.third",
        "m.third",
    ]
    assert names(facts, "address") == []


def test_operator_packets() -> None:
    facts = parse(
        """
import torch
from torch._ops import ops
aten = torch.ops.aten
def f(x):
    prims = torch.ops.prims
    aten.add.Tensor(x, x)
    aten.mm(x, x)
    prims.neg(x)
    torch.ops.mine.op.default(x)
    ops.aten.sub(x)
"""
    )
    assert [(k, n) for _, k, n, _ in uses(facts, "call")] == [
        ("op:add", "torch.ops.aten.add.Tensor"),
        ("op:mm", "torch.ops.aten.mm"),
        ("op:neg", "torch.ops.prims.neg"),
        ("op:op", "torch.ops.mine.op.default"),
        ("op:sub", "torch.ops.aten.sub"),
    ]


def test_imports_and_star() -> None:
    source = """
import a.b as c, d.e
from .x import (y, z as w)
from ..p import *
try:
    from fast import f
except ImportError:
    f = None
def g():
    from late import l
"""
    facts = parse(source)
    # What a module imports from another is an alias of its own, with a target.
    assert names(facts, "import") == [
        "a.b",
        "d.e",
        "late.l",
    ]
    assert uses(facts, "star") == [("star", "py:p", "torch.nn.p", 4)]
    aliases = definitions(facts, "alias")
    m = "torch.nn.modules.act"
    assert list(aliases) == [f"{m}.y", f"{m}.w", f"{m}.f"]
    assert aliases[f"{m}.w"].detail == {"import": True}
    assert (aliases[f"{m}.w"].line, aliases[f"{m}.w"].column) == (3, 24)
    assert [t.name for t in targets(facts, aliases[f"{m}.w"])] == ["torch.nn.modules.x.z"]
    assert not definitions(parse(source, role="test"), "alias")
    assert ("call", "py:q", "q", 2) in uses(parse("from m import *\nq()\nprint()\n"), "call")


def test_aliases() -> None:
    facts = parse(
        '''
import torch, functools, logging
from torch._C import _add_docstr
conv2d = _add_docstr(
    torch.conv2d,
    r"""doc""",
)
def bar(): pass
foo = torch.jit.script(bar)
part = functools.partial(bar, 1)
made = torch.make(option=1)(bar)
first = second = torch.first
log = logging.getLogger(__name__)
number = 3
same = int
has = torch.has(torch)
class C:
    def f(self): pass
    g = f
    h = staticmethod(bar)
    i: object = torch.i
    def m(self):
        local = torch.j
__all__ = ["conv2d", "foo"] + torch.__all__
__all__ += ["bar"]
foo()
'''
    )
    m = "torch.nn.modules.act"
    got = {
        d.name[len(m) + 1 :]: ([t.name for t in targets(facts, d)], (d.detail or {}).get("wrapper"))
        for d in facts.definitions
        if d.kind == "alias" and d.detail != {"import": True}
    }
    assert got == {
        "conv2d": (["torch.conv2d"], "torch._C._add_docstr"),
        "foo": ([f"{m}.bar"], "torch.jit.script"),
        "part": ([f"{m}.bar"], "functools.partial"),
        "made": ([f"{m}.bar"], "torch.make"),
        "first": (["torch.first"], None),
        "second": (["torch.first"], None),
        "C.g": ([f"{m}.C.f"], None),
        "C.h": ([f"{m}.bar"], "staticmethod"),
        "C.i": (["torch.i"], None),
    }
    exports = definitions(facts, "variable")[f"{m}.__all__"]
    assert exports.detail == {"names": ["conv2d", "foo", "bar"], "of": ["torch"]}
    assert names(facts, "call")[-1] == f"{m}.foo"
    assert bound(facts, "docs") == [("py:conv2d", "torch.conv2d", "", "docs", [])]


def test_launch() -> None:
    facts = parse(
        """
import triton
@triton.jit
def kernel(x): pass
def run(x, table):
    kernel[(1, 2)](x)
    table[0](x)
"""
    )
    assert uses(facts, "launch") == [("launch", "py:kernel", "torch.nn.modules.act.kernel", 6)]


def test_bindings_of_operators() -> None:
    facts = parse(
        """
import torch
from somewhere import aten, register_decomposition
prims = torch.ops.prims
@register_decomposition([aten.add.Tensor, aten.add.out])
@aten.add.default.py_impl(torch._C.DispatchKey.Autograd)
def add(a, b): pass
@register_decomposition(prims.neg)
def neg(a): pass
register_lowering(aten.copy)(add)
@register_lowering(torch.as_tensor, x=1)
def as_tensor(a): pass
for op in ops:
    register_lowering(op)(add)
    register_lowering(f"aten::{op}")(add)
@_onnx_symbolic(("aten::mul", "aten::mul.out"))
def mul(g): pass
add_docstr_all("add_", "doc")
"""
    )
    m = "torch.nn.modules.act"
    assert bound(facts, "decomposition") == [
        ("op:add", "aten::add.Tensor", "", "decomposition", [f"{m}.add"]),
        ("op:add", "aten::add.out", "", "decomposition", [f"{m}.add"]),
        ("op:neg", "prims::neg", "", "decomposition", [f"{m}.neg"]),
    ]
    assert bound(facts, "registration") == [
        ("op:add", "aten::add.default", "Autograd", "py_impl", [f"{m}.add"])
    ]
    assert bound(facts, "lowering") == [
        ("op:copy", "aten::copy", "", "lowering", [f"{m}.add"]),
        ("py:as_tensor", "torch.as_tensor", "", "lowering", [f"{m}.as_tensor"]),
    ]
    assert [b[1] for b in bound(facts, "onnx")] == ["aten::mul", "aten::mul.out"]
    assert bound(facts, "docs") == [("py:add_", "torch.Tensor.add_", "", "tensor_docs", [])]
    first = next(d for d in facts.definitions if d.kind == "decomposition")
    assert (first.line, first.column) == (5, 25)
    assert names(facts, "call").count("somewhere.register_decomposition") == 2


def test_bindings_of_libraries() -> None:
    facts = parse(
        """
import torch
from torch.library import Library, impl
lib = Library("mine", "DEF")
meta_lib: Library = torch.library.Library("aten", "IMPL", "Meta")
lib.define("f.out(Tensor x) "
           "-> Tensor")
def kernel(x): pass
lib.impl("f", kernel, "CPU")
meta_lib.impl("g", kernel)
lib.impl("h", lambda x: x, "CUDA")
@impl(lib, "k", "CompositeExplicitAutograd")
def k(x): pass
@torch.library.impl("other::m", ("cpu", "cuda"))
def m(x): pass
unknown.impl("f", kernel, "CPU")
with torch.library._scoped_library("scoped", "FRAGMENT") as inner:
    inner.impl("n", kernel, "CPU")
@torch.library.custom_op("mine::c", mutates_args=())
def c(x): pass
@torch.library.register_fake("mine::c")
def _(x): pass
@c.register_fake
def c_fake(x): pass
"""
    )
    m = "torch.nn.modules.act"
    assert bound(facts, "registration") == [
        ("op:f", "mine::f", "CPU", "library_impl", [f"{m}.kernel"]),
        ("op:g", "aten::g", "Meta", "library_impl", [f"{m}.kernel"]),
        ("op:h", "mine::h", "CUDA", "library_impl", []),
        ("op:k", "mine::k", "CompositeExplicitAutograd", "library_impl_on", [f"{m}.k"]),
        ("op:m", "other::m", "CPU", "library_impl_name", [f"{m}.m"]),
        ("op:m", "other::m", "CUDA", "library_impl_name", [f"{m}.m"]),
        ("op:n", "scoped::n", "CPU", "library_impl", [f"{m}.kernel"]),
    ]
    schemas = [d for d in facts.definitions if d.kind == "schema"]
    assert [(d.name, d.signature) for d in schemas] == [
        ("mine::f.out", "f.out(Tensor x) -> Tensor"),
        ("mine::c", ""),
    ]
    assert [b[1] for b in bound(facts, "meta")] == ["mine::c", f"{m}.c"]


def test_opinfos_and_layers() -> None:
    source = """
import torch
db = [
    OpInfo('linalg.det', aten_name='linalg_det', op=torch.linalg.det, aliases=('det',), variant_test_name=''),
    BinaryUfuncInfo("add", dtypes=some(torch.float)),
]
"""
    facts = parse(source, "torch/testing/_internal/x.py")
    assert [(d.key, d.name, d.detail) for d in facts.definitions if d.kind == "test"] == [
        (
            "test:linalg.det",
            "linalg.det",
            {
                "info": "OpInfo",
                "list": "db",
                "said": {
                    "aten_name": "'linalg_det'",
                    "op": "torch.linalg.det",
                    "aliases": "('det',)",
                    "variant_test_name": "''",
                },
                "aten_name": "linalg_det",
                "aliases": ["det"],
                "variant_test_name": "",
            },
        ),
        (
            "test:add",
            "add",
            {"info": "BinaryUfuncInfo", "list": "db", "said": {"dtypes": "some(torch.float)"}},
        ),
    ]
    assert not [d for d in parse(source).definitions if d.kind == "test"]

    facts = parse(
        "def relu(a):\n    def f(): pass\nrelu_ = make(relu)\nsame = relu\n", "torch/_refs/nn/functional.py"
    )
    assert bound(facts, "ref") == [
        ("op:relu", "relu", "", "refs", ["torch._refs.nn.functional.relu"]),
        ("op:same", "same", "", "refs", ["torch._refs.nn.functional.same"]),
    ]


HALF_TYPED = """
def first():
    x = foo(

@decorator
def second(x):
    return helper(1)

class Third:
    def m(self):
        y = (1,
    def n(self): pass

    def o(self):
        pass

def fourth(
    a,
):
    pass
"""


def test_half_typed_file_keeps_every_intact_definition() -> None:
    facts = parse(HALF_TYPED)
    found = {d.name[21:]: facts.definitions[d.scope].name[21:] for d in facts.definitions[1:]}
    assert found == {
        "first": "",
        "second": "",
        "Third": "",
        "Third.m": "Third",
        "Third.n": "Third",
        "Third.o": "Third",
        "fourth": "",
    }
    assert [(p.kind, p.line > 0) for p in facts.problems] == [("syntax", True)]


@pytest.mark.parametrize(
    "source",
    [
        b"",
        b"\xff\xfe\x00",
        b"\x00" * 100,
        b"def f():\x00 pass\ndef g(): pass\n",
        b"print 'x'\nexec 'y'\nraise E, 'z'\ndef f((a, b)): pass\n",
        b"# coding: no-such-codec\nx = 1\n",
        b"# coding: idna\nx = 1\n",
        b"x = " + b"(" * 10_000,
        b"x = " + b"(" * 10_000 + b")" * 10_000,
        b"x" + b".a()" * 10_000,
        b"def f(x): pass\n" * 2_000,
        b"if x:\n" + b"".join(b" " * i + b"def f():\n" for i in range(300)),
        b"class A(" * 200,
        b"from . import (",
        b"from import x\nimport\n",
        b"@\n@x(\ndef f(): pass",
        b"'''" + b"def f(): pass\n" * 100,
        b"x = \xff\xfe + f(\x80)\n",
        "def größe(): pass\ngröße()\n".encode(),
    ],
)
def test_never_raises(source: bytes) -> None:
    facts = parse(source)
    assert facts.definitions[0].kind == "module"
    assert sum(p.kind == "syntax" for p in facts.problems) <= 1


def test_encodings_and_line_ends() -> None:
    latin = "# -*- coding: latin-1 -*-\nx = 'é'\ndef f(): g()\ndef g(): pass\n"
    for data in (
        latin.encode("latin-1"),
        latin.replace("\n", "\r\n").encode("latin-1"),
        latin.replace("latin-1", "utf-8").replace("\n", "\r").encode(),
        latin.replace("latin-1", "utf-8").encode("utf-8-sig"),
        latin.encode("utf-16"),
    ):
        facts = parse(data)
        assert not facts.problems
        assert [d.line for d in facts.definitions] == [1, 3, 4]
        assert uses(facts, "call") == [("call", "py:g", "torch.nn.modules.act.g", 3)]
    assert [p.kind for p in parse(b"x = '\xe9'\n").problems] == ["encoding"]


def test_one_line_of_a_megabyte() -> None:
    begin = time.process_time()
    facts = parse("import torch\nx = [" + "torch.add(1), " * 75_000 + "]\n")
    assert len(names(facts, "call")) == 75_000
    parse("x = y" + ".f(1)" * 200_000 + "\n")
    parse("x = " + "f(" * 100_000 + ")" * 100_000 + "\n")
    parse("def f():\n    x = (\n" * 3_000)
    assert time.process_time() - begin < 30


TOP_LEVEL = [f"def f{i}(a, b=(1, 2)):\n    return g(a)\n\n" for i in range(4)] + [
    f"class C{i}(Base):\n    def m(self):\n        return {{'a': [1]}}\n\n" for i in range(4)
]


@settings(max_examples=60, deadline=None)
@given(st.permutations(TOP_LEVEL), st.integers(0, 400))
def test_definitions_before_a_cut_stay(parts: list[str], cut: int) -> None:
    source = "".join(parts)
    facts = parse(source[:cut])
    found = {d.name.rpartition(".")[2] for d in facts.definitions}
    position = 0
    for part in parts:
        position += len(part)
        if position <= cut:
            assert part.split()[1].partition("(")[0] in found


@settings(max_examples=60, deadline=None)
@given(st.permutations(HALF_TYPED.splitlines(keepends=True)), st.binary(max_size=20))
def test_shuffled_source_never_raises(lines: list[str], noise: bytes) -> None:
    facts = parse("".join(lines).encode() + noise)
    for d in facts.definitions:
        assert d.scope < len(facts.definitions)
    for r in facts.references:
        assert 0 <= r.owner < len(facts.definitions)
        assert r.line > 0
        assert r.column >= 0


def test_a_wrapper_given_its_functions_by_keyword() -> None:
    facts = parse(
        "from m import boolean_dispatch\ndef _pool(x): ...\ndef pool_all(x): ...\n"
        "pool = boolean_dispatch(index=1, if_true=pool_all, if_false=_pool, name=__name__)\n"
    )
    alias = [d for d in facts.definitions if d.kind == "alias" and d.name.endswith(".pool")]
    ordinal = facts.definitions.index(alias[0])
    assert [
        r.name.rpartition(".")[2] for r in facts.references if r.owner == ordinal and r.kind == "target"
    ] == ["_pool"]


def test_what_was_read_before_does_not_tell_what_a_receiver_is() -> None:
    parse("def f(x):\n    x.start_it()\n    x.make_it()\n")
    facts = parse(
        "class A(B):\n    def f(self):\n        super().start_it()\n        self.start_it()\n"
        "    @classmethod\n    def g(cls):\n        cls.make_it()\n"
    )
    assert [r.name for r in facts.references if r.kind == "method"] == [
        "super().start_it",
        "self.start_it",
        "self.make_it",
    ]


@pytest.mark.parametrize(
    ("parameters", "hidden"),
    [
        ("x: dict[str, torch.Tensor]", False),
        ("self, x: Callable[[int, torch.Tensor], None], *, y=1", False),
        ("x=(1, torch.float), y={1: 2, 3: torch}", False),
        ("x=', torch', y=\", torch\"", False),
        ("x=1,  # why, torch\n    y=2", False),
        ("x: dict[str, int], torch", True),
        ("torch", True),
        ("x, *torch", True),
        ("x, **torch", True),
        ("x: f(1, (2, 3)), torch=None", True),
    ],
)
def test_only_a_parameter_hides_a_name_of_the_module(parameters: str, hidden: bool) -> None:
    source = f"import torch\n\n\ndef f({parameters}):\n    torch.cat(x)\n"
    calls = [r.name for r in parse(source.encode()).references if r.kind != "import"]
    assert ("torch.cat" in calls) is not hidden


def test_what_a_file_calls_a_function_is_of_no_concern_to_the_next() -> None:
    plain = "from somewhere import aten, f\n\n@f(aten.add)\ndef g(x): ...\n"
    renamed = plain.replace(" f\n", " f as register_decomposition\n").replace("@f", "@register_decomposition")
    before = parse(plain, "torch/b.py")
    assert any(d.kind == "decomposition" for d in parse(renamed, "torch/c.py").definitions)
    assert parse(plain, "torch/b.py") == before
    # Nor the other way round.
    fresh = Conventions("pytorch", 1, python=Python(("", "src"), BINDINGS, LAYERS))
    parse_python("torch/c.py", renamed.encode(), fresh, "python", "library")
    assert parse_python("torch/b.py", plain.encode(), fresh, "python", "library") == before


def test_a_name_that_functions_hide_is_what_each_of_them_makes_it() -> None:
    facts = parse(
        "from a import f, m\n\n"
        "def one():\n    f(1)\n    m.g(1)\n\n"
        "def two(f, m):\n    f(2)\n    m.g(2)\n\n"
        "def three():\n    from b import f, m\n    f(3)\n    m.g(3)\n    m.g(3)\n\n"
        "def four():\n    f(4)\n    m.g(4)\n"
    )
    used = [(r.name, r.line) for r in facts.references if r.kind in ("call", "method")]
    assert used == [
        *[("a.f", 4), ("a.m.g", 5)],
        *[("g", 9)],
        *[("b.f", 13), ("b.m.g", 14), ("b.m.g", 15)],
        *[("a.f", 18), ("a.m.g", 19)],
    ]
