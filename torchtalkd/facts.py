"""The vocabulary: what one file says, and the words every other package uses for it.

There are two kinds of facts, a `Definition` and a `Reference`. A binding is not a
third kind: it is a Definition of a name of the other language whose references
name what implements it. A file of native_functions.yaml, a `TORCH_LIBRARY_IMPL`
block and a Python `def` all come out as these two.

Facts of one file never mention another file by anything but a key (see
`torchtalkd.keys`), so replacing the rows of one file is the whole of an
incremental update. The tests are the cases in
`tests/cases`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from torchtalkd.test_rules import TestInfo as TestInfo
from torchtalkd.test_rules import TestRules as TestRules

Kind: TypeAlias = Literal[
    # names of a language
    "function",  # a C++ or Python function or method; `declares` when it has no body
    "class",  # a C++ class or struct, a Python class
    "kernel",  # a __global__ function, a Metal kernel function, a Triton kernel in Python
    "macro",  # a #define; detail: parameters, body, products, constant (one without parentheses)
    "variable",  # a named table or module-level name that other facts hang on
    "module",  # a Python file as an importable module; what a build makes one of (key in target:)
    "alias",  # a name that stands for another one: its single target
    # bindings: a name of the other side, with targets
    "operator",  # an operator's schema in native_functions.yaml (or made by `autogen`)
    "schema",  # an operator's schema in code: m.def("f(Tensor x) -> Tensor")
    "registration",  # an operator's kernel under a dispatch key
    "library",  # a TORCH_LIBRARY… block: the scope of its registrations
    "structured_meta",  # TORCH_META_FUNC…
    "structured_impl",  # TORCH_IMPL_FUNC
    "stub",  # DECLARE_DISPATCH / DEFINE_DISPATCH
    "stub_kernel",  # REGISTER_DISPATCH and kin: a stub's kernel for one backend
    "python_binding",  # a Python name implemented in C++: pybind11, PyMethodDef, yaml
    "derivative",  # an entry of derivatives.yaml
    "tag",  # an entry of tags.yaml
    "docs",  # a name's documentation: add_docstr(torch.add, …)
    "decomposition",
    "meta",  # a Python meta or fake function of an operator
    "ref",  # a Python reference implementation (torch._refs)
    "lowering",  # an inductor lowering
    "batching_rule",
    "autocast",
    "jit",
    "onnx",
    "autograd_function",
    "shape",
    "test",  # an OpInfo entry, a test's own name
    "registry",  # an entry of a registry in Python: what a name stands for there
    "macro_use",  # a macro used where it can make definitions; detail: arguments
]

BINDING_KINDS: Final = frozenset(
    {
        "alias",
        "operator",
        "schema",
        "registration",
        "structured_meta",
        "structured_impl",
        "stub_kernel",
        "python_binding",
        "derivative",
        "docs",
        "decomposition",
        "meta",
        "ref",
        "lowering",
        "batching_rule",
        "autocast",
        "jit",
        "onnx",
        "autograd_function",
        "shape",
        "test",
        "registry",
        "macro_use",
    }
)
"""Kinds whose own references are `targets`: stored one row each, so that they are found
from the binding and from what it names. (A `structured_impl` has a body too; what the
body calls are ordinary references.)"""

ReferenceKind: TypeAlias = Literal[
    "call",  # f(x); also a constructor call as far as it looks like one
    "method",  # x.f(y): the receiver's type is not known from the text
    "address",  # &f, or f named as a value
    "launch",  # f<<<grid, block>>>(x), gpu_kernel(iter, f), kernel[grid](x)
    "include",  # key in file:
    "import",  # an imported Python name that is no alias of the module
    "star",  # from m import *
    "base",  # a base class
    "holds",  # self.fc = Linear(x): an attribute and what makes it; name `fc = torch.nn.Linear`
    "macro",  # a use of a function-like macro; key in macro:
    "dispatch_name",  # the string of AT_DISPATCH_…(type, "name", …)
    "target",  # what a binding refers to: its kernel, its alias, its formula's functions
    "argument",  # an argument of a macro_use that is a name
]


class Reference(NamedTuple):
    """That a name is used at a place.

    `owner` is the ordinal, within the file, of the innermost Definition around it (-1:
    none). A reference whose owner is a binding and whose kind is `target` or `argument`
    is one of that binding's targets.
    """

    key: str
    """What it may mean: see `torchtalkd.keys`."""
    name: str
    """The name as written, qualifier included (for Python: with imports followed)."""
    kind: ReferenceKind
    line: int
    """1-based."""
    column: int
    """0-based, in bytes, of the first byte of the name as written."""
    owner: int = -1
    arguments: int = -1
    """How many arguments a call in C++ passes, which tells overloads apart; -1 elsewhere."""


class Definition(NamedTuple):
    """That a name is defined (or, with `declares`, only declared) at a place."""

    key: str
    name: str
    """The qualified name: `at::native::mul_kernel`, `torch.nn.Linear.forward`,
    `aten::add.Tensor`. Anonymous namespaces leave no trace; see `local`."""
    kind: Kind
    line: int
    """1-based, of the name itself."""
    column: int
    """0-based, in bytes."""
    end_line: int
    scope: int = -1
    """Ordinal of the innermost definition around it: class, library block, function."""
    declares: bool = False
    local: bool = False
    """Visible in its own file only: `static`, or in an anonymous namespace."""
    signature: str = ""
    """C++: `(const Tensor & self, int64_t dim) -> Tensor`, white space folded.
    Operators: the schema string. Python: the parameter list."""
    dispatch_key: str = ""
    """For a registration or stub kernel: CPU, CUDA, CompositeImplicitAutograd, …"""
    convention: str = ""
    """Which manifest convention or shape made a binding: `native_functions`, `torch_library`,
    `dispatch_stub`, `pybind11`, …"""
    guard: str = ""
    """The conditions of the #if around it, outermost first, joined by ` && `."""
    detail: dict[str, Any] | None = None
    """What only this kind has; plain JSON. The parsers' modules say what."""
    body: int = 0
    """C++: a digest (signed, 64 bits) of the whole lines `line` to `end_line`, for what a compiler sees
    code in; 0 elsewhere. What was read exactly of a body is true of it as long as this is the same."""


class Problem(NamedTuple):
    """What could not be read, and where. `line` is 0 when the whole file is meant."""

    line: int
    kind: Literal["syntax", "encoding", "binary", "size", "time", "crash", "unreadable", "macro", "path"]
    message: str


@dataclass(frozen=True, slots=True)
class FileFacts:
    """All that one file says. A function of its bytes, its path and the recipe alone.

    Ordinals (`scope`, `owner`) are positions in `definitions`.
    """

    path: str
    """From the root, with forward slashes."""
    language: str
    """cpp, cuda, objcpp, metal, python, native_functions, derivatives, tags, cmake, pyproject, notebook."""
    role: str
    """library, test, template, generated: from the manifest's globs."""
    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()
    problems: tuple[Problem, ...] = ()


class File(NamedTuple):
    """A file of the index."""

    id: int
    path: str
    language: str
    role: str
    digest: str


class FiledDefinition(NamedTuple):
    """A Definition with the file that owns it."""

    id: int
    file: File
    fact: Definition


class FiledReference(NamedTuple):
    """A Reference with the file that owns it and the id of the definition it stands in (-1: none)."""

    file: File
    fact: Reference
    owner: int


ExactKind: TypeAlias = Literal[
    "call",  # of a function that the compiler chose
    "construct",  # of a constructor
    "operator",  # of an overloaded operator or a conversion
    "virtual",  # of a virtual function: its overriders may be what runs
    "address",  # a function that is named, but not called
    "launch",  # kernel<<<grid, block>>>(x)
    "overrides",  # what a method overrides, at its own name: no reference, `View.exact_overridden` has these
]
EXACT_KINDS: Final[tuple[ExactKind, ...]] = (
    *("call", "construct", "operator", "virtual", "address", "launch", "overrides"),
)
"""In the order in which the store numbers them."""


class ExactReference(NamedTuple):
    """A reference of a body as the current text has it: `View.exact_in`."""

    line: int
    """1-based, of the callee's name token."""
    column: int
    """0-based, in bytes."""
    kind: ExactKind
    name: str
    """Qualified, as the compiler has it."""
    target: int
    """Id of the definition (or, where none is known, declaration) that it joins to; -1: none in the index."""
    path: str
    """Of that definition, else of the declaration that the compiler saw; '' outside of the tree."""
    target_line: int
    """0 where the text has moved on since."""


class ExactShare(NamedTuple):
    """How much of a tree's C++ was read by a compiler: files with bodies of their own (translation units,
    and headers with inline functions)."""

    read: int
    """Whose reading is true of the texts as they are now."""
    total: int
    pending: int


@dataclass(frozen=True, slots=True)
class Torchgen:
    """What torchgen's own lists say about registrations (table `[link.torchgen]`)."""

    shards: dict[str, int] = field(default_factory=dict)
    """Generated file → in how many pieces it is written: VariableType → 5."""
    structured_keys: tuple[str, ...] = ("CPU", "CUDA", "MPS", "XPU")
    """Keys that a structured kernel serves (torchgen/model.py `STRUCTURED_DISPATCH_KEYS`)."""
    manual_autograd: tuple[str, ...] = ()
    """C++ names whose autograd and tracing kernels are written by hand
    (tools/autograd/gen_trace_type.py `MANUAL_AUTOGRAD`)."""
    view_functions: tuple[str, ...] = ()
    """C++ names that return views (tools/autograd/gen_inplace_or_view_type.py `RETURNS_VIEWS_OF_INPUT`)."""
    not_functionalized: tuple[str, ...] = ()
    """Operators in no group that functionalization leaves out
    (torchgen/gen_functionalization_type.py `MUTABLE_OPS_NOT_USING_FUNCTIONALIZATION`)."""
    functionalized_by_hand: tuple[str, ...] = ()
    """Operators whose whole group has a hand-written functionalization kernel (the same file,
    `gen_functionalization_registration`)."""


@dataclass(frozen=True, slots=True)
class DispatchKeys:
    """Which runtime keys there are, and which of them an alias key stands for (table `[link.dispatch]`).

    A set is a list of keys, of which `Sparse*` means one for each backend, the name of another
    set all of its keys, and `!XLA` takes the keys of a backend out again
    (c10/core/DispatchKey.h, DispatchKeySet.h and DispatchKeySet.cpp).
    """

    backends: tuple[str, ...] = ()
    """The backend components, in their order (`C10_FORALL_BACKEND_COMPONENTS`)."""
    per_backend: tuple[str, ...] = ()
    """Beginnings of the keys of which each backend has its own: `` (CPU, CUDA, …), `Sparse`, `Autograd`."""
    aliases: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Alias key → its set."""
    autograd_other: tuple[str, ...] = ()
    """The backends that share the key AutogradOther."""
    table: tuple[str, ...] = ()
    """The keys that a dispatch table shows, in the order of the dispatcher, where a build names none."""


@dataclass(frozen=True, slots=True)
class Build:
    """A way to build and load the framework: what of the source it has (table `[[link.builds]]`)."""

    name: str
    default: bool = False
    """Taken where nobody names one."""
    without: tuple[str, ...] = ()
    """Files that it does not compile, or that importing it does not load, and generated files that it
    does not have (`generated/RegisterMPS.cpp`); `*` stands for any letters, slashes included."""
    undefined: tuple[str, ...] = ()
    """Macros that are not defined: what stands in `#if defined(X)` is not there."""
    keys: tuple[str, ...] = ()
    """The keys that its tables show; none: those of `[link.dispatch]`."""


@dataclass(frozen=True, slots=True)
class PythonRegistrations:
    """What Python code registers besides what its calls say (table `[link.python]`). A binding is
    named by its id in `[[python.bindings]]`."""

    implied: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Binding → keys that each of its calls registers for: custom_op → Autograd, Meta."""
    default_keys: dict[str, str] = field(default_factory=dict)
    """Binding → the key of a call that names none."""
    without_tensors: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Binding → keys that it also registers for, where no argument of the schema is a tensor."""
    meta_tables: tuple[str, ...] = ()
    """Bindings whose functions become Meta kernels when all is loaded, the first before the others
    (torch/_meta_registrations.py `activate_meta`)."""
    not_activated: tuple[str, ...] = ()
    """Operators that it leaves out."""
    python_dispatcher: tuple[str, ...] = ()
    """Bindings that only the Python dispatcher knows: `py_impl` (torch/_ops.py)."""


@dataclass(frozen=True, slots=True)
class Category:
    """A sort of Python classes that `modules` lists (table `[[link.categories]]`)."""

    name: str
    """What it is asked for by: nn."""
    label: str = ""
    """What one of its classes is: module, optimizer."""
    bases: tuple[str, ...] = ()
    """Its classes inherit from one of these, by full name; of the tree itself or of a framework."""
    under: tuple[str, ...] = ()
    """Modules that a listed class must be defined below; none: anywhere."""
    functions: tuple[str, ...] = ()
    """Modules whose functions are asked for by their bare name too: torch.nn.functional."""
    methods: tuple[str, ...] = ("forward",)
    """The methods that users of its objects run: `modules` follows them to their operators."""


@dataclass(frozen=True, slots=True)
class Rules:
    """What a manifest tells the read side (table `[link]`): data that answers depend on.

    The store keeps it as one row, so queries need no manifest.
    """

    harness: str = ""
    version: str = ""
    """The tree's own version (version.txt), '' if unknown."""
    native_namespaces: tuple[str, ...] = ("at::native",)
    """Where a kernel of a yaml dispatch entry is looked up, in order."""
    operator_namespace: str = "aten"
    """The namespace of an operator written without one."""
    python_modules: dict[str, str] = field(default_factory=dict)
    """`python_module:` of a yaml entry → the Python module its binding lives in:
    nn → torch._C._nn."""
    python_aliases: dict[str, str] = field(default_factory=dict)
    """Spelled prefix → canonical module: F → torch.nn.functional, Tensor → torch.Tensor."""
    wrapper_prefixes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Public module → the binding modules whose names it re-exports: torch.linalg →
    torch._C._linalg (with the prefix `linalg_`)."""
    backends: tuple[str, ...] = ("CPU", "CUDA", "MPS")
    """Dispatch keys in the order answers show them."""
    composite_keys: tuple[str, ...] = ()
    """Keys whose kernel serves several backends: CompositeImplicitAutograd, …"""
    default_dispatch: str = "CompositeImplicitAutograd"
    """The key of an entry without `dispatch:`; its kernel has the operator's own name."""
    class_methods: tuple[str, ...] = ("forward", "backward")
    """Methods that users of a Python class run, `*` for any letters: a trace of the class shows them."""
    bases: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    """Each framework that the tree depends on → what it provides: `python` (top modules),
    `namespaces` (of C++), `includes` (beginnings of header paths). From the manifests named in
    `depends_on`."""
    libraries: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Library outside the tree → how the names begin that call it: cuBLAS → cublas."""
    torchgen: Torchgen = Torchgen()
    dispatch: DispatchKeys = DispatchKeys()
    python: PythonRegistrations = PythonRegistrations()
    tests: TestRules = TestRules()
    test_infos: tuple[TestInfo, ...] = ()
    builds: tuple[Build, ...] = ()
    """Of one name the last."""
    categories: tuple[Category, ...] = ()
    """In the order in which a class is looked for in them."""
