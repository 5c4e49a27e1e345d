"""What a model reads before it asks: when to use this server, and each tool.

Clients cut the instructions at 2,048 characters and show many models no more of a tool than its
name until it is looked up, so the instructions say when to ask, and each description begins with
the question that it answers.
"""

from __future__ import annotations

from typing import Final

INSTRUCTIONS: Final = (
    "Use torchtalk whenever a question is about where something of PyTorch (or of an extension such as vLLM"
    " or torchvision) is defined, bound, dispatched or implemented: from a Python name (torch.matmul,"
    " F.conv2d, nn.Linear) through native_functions.yaml, dispatch keys, registrations and dispatch stubs to"
    " the C++, CUDA, Metal and Triton kernels, the derivative, decompositions and tests. It reads the whole"
    " source tree and follows the bindings that a text search cannot: macros, yaml entries, stubs, generated"
    " names. Ask it before you grep.\n"
    "\n"
    "- trace(func): where is this implemented? Any spelling: torch.add, aten::add.Tensor, add_,"
    ' at::native::add, Tensor.view, add_kernel. focus="dispatch" lists the kernel of each backend,'
    ' focus="yaml" the schema and formula.\n'
    '- search(query): what is there whose name contains this? mode="kernels" lists kernels, backend="CUDA"'
    ' narrows; mode="registries" lists models, backends and other registered names, mode="external"'
    " what is taken from a base framework.\n"
    "- get_status(): which tree, revision and commit is this, is it complete, is it still being read?\n"
    "\n"
    "Each line of an answer is `file:line  symbol  [dispatch keys]`, from the root of the tree; what is in"
    " another tree (an extension's torch.matmul) has its whole path."
    ' "(candidate)" marks what was found by name only and may be one of several. Line 1 says the revision;'
    " an answer that is incomplete says so. Answers follow edits of the tree; nothing has to be built or"
    ' refreshed. All tools only read. A name that does not exist gives "Function not found" and the nearest'
    " names: ask again with one."
)

DESCRIPTIONS: Final = {
    "get_status": (
        "Is the index ready, and what is it of? Call it when an answer looks incomplete or out of date, or to"
        " learn which source tree, revision, commit and branch the answers are about. Says how many bindings"
        " and native functions are known, what is still being read, and which files could not be read."
    ),
    "trace": (
        "Where is this PyTorch function, operator, kernel or class implemented? Follows a name from Python"
        " through its schema and native_functions.yaml entry to the kernel of each dispatch key (CPU, CUDA,"
        " MPS, autograd, …), with hand-written registrations, the derivative, decompositions and tests; file"
        " and line of each. Use it in place of a text search for any name of torch, aten, a C++ kernel or a"
        " dispatch stub."
    ),
    "search": (
        "Which operators, bindings or kernels have a name like this? Lists what contains a text, best"
        " matches first, with file and line. Use it when the exact name is not known, or to list the kernels"
        " of a kind or of a backend; then trace one of them."
    ),
}
"""By tool."""

PARAMETERS: Final = {
    "func": (
        "The name, in any spelling: torch.matmul, aten::add.Tensor, F.conv2d, nn.Linear, Tensor.view, add_,"
        " at::native::softmax_cpu, add_kernel."
    ),
    "focus": (
        "full: every layer. yaml: schema, dispatch table and derivative formulas. dispatch: the kernel of"
        " each dispatch key, for a composite operator also of the operators that it ends in."
    ),
    "query": "Part of a name, in any case: softmax, layer_norm, upsample.",
    "mode": (
        "bindings: operators, Python bindings and registrations. kernels: their C++, CUDA and Metal"
        " functions."
    ),
    "backend": "Only for this dispatch key: CPU, CUDA, MPS, CompositeImplicitAutograd, … Empty: all.",
    "wait": (
        "true: wait up to 2 s until all that has just changed in the tree is read. Only needed right after a"
        " large change, such as a checkout."
    ),
    "all_roots": (
        "true: also ask the other source trees that are known: what this tree depends on, and who uses the"
        " name there."
    ),
    "limit": "How many matches to show, from 1 to 200.",
}
"""By parameter."""
