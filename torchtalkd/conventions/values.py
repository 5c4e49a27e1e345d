"""What a manifest says, as frozen typed values.

A manifest is data: names, globs and tables. Each field here is one field of the TOML file
(`docs/manifests.md` lists them with examples); `load.py` reads, checks and merges the files.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from torchtalkd.conventions.compiling import Compilation
from torchtalkd.facts import Rules


@dataclass(frozen=True, slots=True)
class Files:
    """Which files of a tree are read, and as what. Patterns are relative to the root:
    `dir/**` is everything below, `*` stays within one folder name, `**/x` is any depth."""

    ignore: tuple[str, ...] = ()
    """Never read nor watched: build folders, caches, version control."""
    library: tuple[str, ...] = ()
    """Files whose role is `library` whatever the other patterns say."""
    tests: tuple[str, ...] = ()
    """Files whose role is `test`."""
    templates: tuple[str, ...] = ()
    """Files whose role is `template`: names in them define nothing."""
    generated: tuple[str, ...] = ()
    """Files whose role is `generated`."""
    languages: dict[str, str] = field(default_factory=dict)
    """Suffix (`.cu`) or pattern with a slash (`aten/src/ATen/native/tags.yaml`) → language:
    cpp, cuda, objcpp, metal, python, native_functions, derivatives, tags, cmake, pyproject, notebook
    (told as a Problem: its code is not read), `` (not read)."""
    max_bytes: int = 8_000_000
    """A larger file is a Problem and is not parsed."""


@dataclass(frozen=True, slots=True)
class BlankMacro:
    """A macro that stands where the grammar allows no name. It is replaced by blanks."""

    name: str
    arguments: bool = False
    """Also blank the parenthesised arguments that follow."""


@dataclass(frozen=True, slots=True)
class MacroDefinition:
    """A function-like macro whose definition is not in the tree: `#define name(params) body`."""

    name: str
    parameters: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class Shape:
    """One spelling of a binding in C++: which macro or call, and how to read it."""

    name: str
    """The macro's or method's name as written: REGISTER_DISPATCH, TORCH_LIBRARY_IMPL."""
    shape: str
    """How to read it: a module of `torchtalkd.parse.shapes`."""
    dispatch_key: str = ""
    """The key it registers for, where the name alone decides."""
    options: dict[str, str] = field(default_factory=dict)
    """What else the shape wants to know; its module says."""


@dataclass(frozen=True, slots=True)
class StubRule:
    """What REGISTER_DISPATCH means in a file (ATen/native/DispatchStub.h decides by the
    compiler's predefined macros; from outside, the path decides the same)."""

    pattern: str
    """Glob from the root."""
    dispatch_key: str


@dataclass(frozen=True, slots=True)
class PythonBinding:
    """A call or decorator in Python that binds a name: `add_docstr(torch.add, …)`,
    `@register_decomposition(aten.add)`. Of several for one call the first that fits is taken;
    `load` puts those with `paths` first."""

    id: str
    call: str
    """Last component of the function called or used as decorator; `*` matches any letters."""
    kind: str
    """A Kind of `torchtalkd.facts`: docs, decomposition, meta, lowering, …"""
    operand: int | str = 0
    """Which argument names the bound thing: a position, a keyword, or `receiver`: what the
    function is taken from (`aten.add.default.py_impl(…)`). `name|0` is the keyword or, without
    it, the position; `name|decorated` the keyword or what the decorated function is called."""
    operand_space: str = "op"
    """`op`, `py` or `test`: what the operand names. A list or tuple names several."""
    target: int | str = "decorated"
    """`decorated` (the function below the decorator, or what the call's result is called
    with), a position or a keyword, or '' (none)."""
    prefix: str = ""
    """Put before an operand given as a bare string, and before the last component of a receiver that
    names no operator by itself: `torch.` or `aten::`."""
    suffix: str = ""
    """The bound operator is called like the operand, whatever that is, with `prefix` before and this
    after its last component: `_make_inplace(abs)` binds `aten::abs_`."""
    schema: str = ""
    """Of a schema that the call puts together itself: what stands behind the operator's name."""
    unless: str = ""
    """A keyword that, given as False, makes the call bind nothing."""
    paths: tuple[str, ...] = ()
    """Only in files that match; empty: everywhere."""
    dispatch_key: int | str = ""
    """Which argument names the dispatch key or device: a position or a keyword; '' for none."""
    library: int | str = ""
    """Which argument is the operator library that gives namespace and dispatch key: a position,
    a keyword or `receiver`. The binding fits only where it is known to be a library."""
    keywords: tuple[str, ...] = ()
    """Arguments by keyword that are kept in the fact's detail when they are text, dotted names
    or lists of these: `aten_name`."""
    also: bool = False
    """Is read besides the binding that fits first: a call may bind an operator and its fake. Of
    several of one kind the first that fits, and has its target, is used."""


@dataclass(frozen=True, slots=True)
class PythonRegistry:
    """A registry in Python: what names stand for which classes or functions. One spelling of it:
    `call` (a call or a decorator), `table` (a dict that is written out) or `enum`. Of several that
    fit, the last one is used."""

    id: str
    label: str
    """What an entry is, in answers: `model`, `attention backend`."""
    call: str = ""
    """The function called or used as decorator, as written: `CustomOp.register`, `*Factory.register_*`.
    The end of it is enough; `*` matches any letters."""
    table: str = ""
    """The variable that holds the dict: `_*_MODELS`."""
    enum: str = ""
    """The class whose members' values are dotted paths: `*BackendEnum`."""
    name: int | str = 0
    """Of a call, which argument names the entry: a position, a keyword (`name|0`: either), `receiver`
    or `decorated` (the name of what is decorated: also where there is no such argument)."""
    target: int | str = "decorated"
    """Of a call, what the name stands for: `decorated`, a position or a keyword (`cls|1`: either)."""
    module: int | str = ""
    """Of a call, which argument is the module of a target that is given as text."""
    note: int | str = ""
    """Of a call, an argument that says more about the entry: the type that a kernel is for."""
    prefix: str = ""
    """Package of a module without a dot, or of a class without a module: `vllm.tool_parsers.`."""
    paths: tuple[str, ...] = ()
    """Only in files that match; empty: everywhere."""


@dataclass(frozen=True, slots=True)
class PythonLookup:
    """A call that gives an operator by its name: `getattr(torch.ops.ns, "f")`, `get_operator("ns", "f")`.
    It is a reference to that operator."""

    id: str
    call: str
    """Last component of what is called."""
    operand: int | str = 0
    """Which argument is the operator's name."""
    namespace: int | str = ""
    """Which argument is its namespace: text, or `torch.ops.ns`; '' where `prefix` says it."""
    prefix: str = ""
    """Put before the operand: `mylib::`."""


@dataclass(frozen=True, slots=True)
class PythonLayer:
    """Module-level functions of a file that implement the operator of their own name."""

    id: str
    pattern: str
    """Glob of the files."""
    kind: str
    """A Kind: ref, jit, onnx, …"""
    prefix: str = ""
    """What the operator's name has before the function's: `linalg_` in torch/_refs/linalg."""


@dataclass(frozen=True, slots=True)
class Cpp:
    """How C++ of this framework is spelled."""

    blank: tuple[BlankMacro, ...] = ()
    blank_suffixes: tuple[str, ...] = ()
    """How other macros end that stand before a type or a name and are blanked: `_API`, `_EXPORT`."""
    macros: tuple[MacroDefinition, ...] = ()
    shapes: tuple[Shape, ...] = ()
    stub_rules: tuple[StubRule, ...] = ()
    default_python_module: str = ""
    """The module that pybind functions of an unnamed `py::module` belong to: torch._C."""
    launchers: tuple[str, ...] = ()
    """Calls that run a device function given as argument: gpu_kernel, jitted_gpu_kernel."""
    cpu_launchers: tuple[str, ...] = ()
    """The same for loops on the CPU: cpu_kernel, cpu_kernel_vec."""
    value_suffixes: tuple[str, ...] = ()
    """How the names of functions and stubs end that are passed as plain values: `_stub`, `_kernel`."""
    dispatch_macros: tuple[str, ...] = ()
    """Prefixes of AT_DISPATCH_… like macros whose string argument names an operation."""
    file_scope_macros: tuple[str, ...] = ()
    """Globs of macro names that define nothing: TORCH_CHECK, C10_DIAGNOSTIC_*, …"""
    python_names: dict[str, str] = field(default_factory=dict)
    """Name of a PyMethodDef table → the Python module or class it fills. Where several files
    use one name: `path/of/file.cpp:name`. `python_name_of` in `tables.py` looks it up."""


@dataclass(frozen=True, slots=True)
class PythonTests:
    """What makes tests of Python functions and classes; `[link.tests]` says how they are called."""

    cases: tuple[str, ...] = ()
    """Last components of decorators that make several tests of one function, or tell its parameters:
    ops, parametrize, fixture."""
    makers: tuple[str, ...] = ()
    """Last components of calls that make test classes of the class given first:
    instantiate_device_type_tests."""
    lists: tuple[str, ...] = ()
    """How lists of entries (OpInfo and its kin) are called, `*` for any letters: `*_db`. A list that
    holds an entry, or another list, needs no such name."""


@dataclass(frozen=True, slots=True)
class Python:
    """How Python of this framework is laid out and bound."""

    roots: tuple[str, ...] = ("",)
    """Folders that module names start from; '' is the root itself."""
    bindings: tuple[PythonBinding, ...] = ()
    layers: tuple[PythonLayer, ...] = ()
    libraries: tuple[str, ...] = ()
    """Last components of calls that make an operator library, `Library("aten", "IMPL", "CPU")`:
    namespace first, dispatch key third."""
    registries: tuple[PythonRegistry, ...] = ()
    lookups: tuple[PythonLookup, ...] = ()
    kernels: tuple[str, ...] = ()
    """Decorators that make a device kernel of a function, by full name: `triton.jit`. The end of
    it is enough; `*` matches any letters."""
    tests: PythonTests = PythonTests()
    loaders: tuple[str, ...] = ()
    """Calls that give the module that one of their texts names: `importlib.import_module`. As `kernels`."""


@dataclass(frozen=True, slots=True)
class Targets:
    """How build files say which sources become which module."""

    extensions: tuple[str, ...] = ()
    """Last components of calls with a module's name and sources: CUDAExtension."""
    loaders: tuple[str, ...] = ()
    """Those of calls that compile and load a module at run time: load, load_inline."""
    commands: tuple[str, ...] = ()
    """CMake's commands that are given a target's name and its sources: add_library."""
    builder_name: str = ""
    """The attribute by which a class that builds a module later names it; '' for no such classes."""
    builder_full_name: str = ""
    """The method that returns the name under which it is installed."""
    builder_sources: str = ""
    """The method that returns its sources."""


@dataclass(frozen=True, slots=True)
class Operators:
    """Where the operator schemas in yaml are bound (for `parse.op_schema`)."""

    functions_module: str = "torch"
    """Module of the `function` variant."""
    methods_class: str = "torch.Tensor"
    """Class of the `method` variant."""


@dataclass(frozen=True, slots=True)
class Provides:
    """By what names other trees use this framework."""

    python: tuple[str, ...] = ()
    """Top Python modules: `torch`."""
    namespaces: tuple[str, ...] = ()
    """C++ namespaces: `at`."""
    includes: tuple[str, ...] = ()
    """How the paths of its headers begin: `ATen/`."""


@dataclass(frozen=True, slots=True)
class Conventions:
    """A manifest with all that it extends, merged."""

    name: str
    format: int
    extends: tuple[str, ...] = ()
    depends_on: tuple[str, ...] = ()
    detect: tuple[str, ...] = ()
    """Paths that must all exist for a tree to be this framework's; `a|b` is one of the two."""
    detect_text: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """File → texts. Where given, one of the files must contain one of its texts."""
    version_files: tuple[str, ...] = ("version.txt",)
    """Where the tree's version stands; the first file that names one is used."""
    files: Files = Files()
    cpp: Cpp = Cpp()
    python: Python = Python()
    operators: Operators = Operators()
    targets: Targets = Targets()
    provides: Provides = Provides()
    compilation: Compilation = Compilation()
    rules: Rules = Rules()
    expected_minimums: dict[str, int] = field(default_factory=dict)
    fingerprint: str = ""
    """Digest over all fields above but `rules.version` and `compilation`: part of every file's recipe."""
