"""Prompts: what a user starts with a word (a slash command in most clients) and a model then does.

Each is a short list of steps that name the tools to call. The tests are in `tests/test_mcp_prompts.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final, NamedTuple

from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INVALID_PARAMS,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from torchtalkd.frontends.mcp.calls import Call, Value, served
from torchtalkd.frontends.text import printable

Context = ServerRequestContext[Any, Any]
MOST_NAME: Final = 400
"""Characters of an argument that are repeated."""
Calls = Callable[..., str]


class Argument(NamedTuple):
    """One argument of a prompt."""

    about: str
    required: bool = False
    default: str = ""
    choices: tuple[str, ...] = ()
    """What is completed, for one that is no name of the tree."""
    is_name: bool = False
    """Whether names of the tree complete it."""


class Prompted(NamedTuple):
    """A prompt: what it is for, its arguments, its steps."""

    about: str
    arguments: Mapping[str, Argument]
    steps: Callable[[Mapping[str, str], Calls], list[str]]


def _trace(given: Mapping[str, str], call: Calls) -> list[str]:
    func, focus = given["function"], given["focus"]
    return [
        f"Explain how {func} gets from Python to the code that runs, by the tree that torchtalk serves.",
        f"1. {call('get_status')}: is the index complete, and of which commit is it?",
        f"2. {call('trace', func=func, focus=focus)}: every layer with file and line. Not found: take the"
        " likest name that the answer offers, and say so.",
        f"3. {call('graph', func=func, mode='calls')}: what its implementation calls.",
        f"4. {call('trace', func=func, focus='dispatch')}: which kernel runs for which dispatch key; look for"
        " structured functions (one meta function, a kernel for each backend) and for dispatch stubs.",
        "5. Explain layer by layer, each with file:line: the Python entry; the entry of yaml and its schema;"
        " the dispatch in C++; the implementation of each backend; the autograd formula; why it is so.",
        "Say which of these are candidates only, and leave out no backend.",
    ]


def _impact(given: Mapping[str, str], call: Calls) -> list[str]:
    func, depth = given["function"], given["depth"]
    number = int(depth) if depth.isdecimal() else 3
    return [
        f"What breaks if {func} changes? Find out before anything is edited.",
        f"1. {call('trace', func=func)}: what it is, and which operator it belongs to.",
        f"2. {call('graph', func=func, mode='impact', depth=number, focus='full')}: who calls it, level by"
        " level, up to the Python names that reach it.",
        f"3. {call('affected', funcs=func, depth=number)}: which tests reach it, and by which path.",
        "4. Answer with the direct callers (file:line), the Python functions that users see, the tests to"
        " run; say what is certain and what a candidate only.",
    ]


def _add_backend_kernel(given: Mapping[str, str], call: Calls) -> list[str]:
    operator, backend = given["operator"], given["backend"]
    return [
        f"Add a {backend} kernel for {operator}. Look at how the tree does it before writing a line.",
        f"1. {call('trace', func=operator, focus='yaml')}: its schema, whether it is structured or delegates,"
        " and what its dispatch table has today.",
        f"2. {call('trace', func=operator, focus='dispatch')}: the kernels that there are, the stub between"
        f" them, and whether {backend} is already served by a composite or a fallback.",
        f"3. {call('search', query=operator, mode='kernels', backend=backend)}: {backend} kernels of a like"
        " name; read the nearest one as the pattern to follow.",
        f"4. {call('graph', func=operator, mode='calls')}: what the CPU kernel relies on.",
        f"5. {call('tests', query=operator)}: the OpInfo and the tests that must then cover {backend}.",
        "6. Propose the edits as file:line and code: the entry of yaml, the kernel, its registration or"
        " stub, the derivative if one is needed, and the tests or skips to change.",
    ]


def _what_tests(given: Mapping[str, str], call: Calls) -> list[str]:
    change = given["change"]
    first = change.partition(",")[0].strip()
    return [
        f"Which tests have to run for this change: {change}",
        "1. If that is a diff, a commit or a description, find the names of the functions that it changes.",
        f"2. {call('affected', funcs=change)}: with those names, separated by commas.",
        f"3. For each operator among them, as in {call('tests', query=first)}: its OpInfo, tests naming it.",
        "4. Answer with commands to run, the narrowest first, with the reason for each; say what is certain,"
        " and say it plainly where the answer is that everything has to run.",
    ]


_FUNCTION: Final = Argument("Any spelling: torch.softmax, aten::add.Tensor, nn.Linear.", True, is_name=True)

PROMPTS: Final[Mapping[str, Prompted]] = {
    "trace": Prompted(
        "Explain a PyTorch function layer by layer, from Python to its kernels.",
        {
            "function": _FUNCTION,
            "focus": Argument(
                "full, yaml or dispatch.", default="full", choices=("full", "yaml", "dispatch")
            ),
        },
        _trace,
    ),
    "impact": Prompted(
        "Find what breaks if a function changes: callers, Python names, tests.",
        {
            "function": _FUNCTION,
            "depth": Argument("How many calls up, 1 to 5.", default="3", choices=("1", "2", "3", "4", "5")),
        },
        _impact,
    ),
    "add-backend-kernel": Prompted(
        "Add an operator's kernel for a backend, after the tree's own patterns.",
        {
            "operator": Argument("The operator: expm1, aten::add.Tensor.", True, is_name=True),
            "backend": Argument("A dispatch key: MPS, CUDA, CPU, …", True),
        },
        _add_backend_kernel,
    ),
    "what-tests": Prompted(
        "Find the tests to run for a change.",
        {"change": Argument("Functions, separated by commas, or what the change is.", True, is_name=True)},
        _what_tests,
    ),
}


class Prompting:
    """The prompts of one client, which name only tools that it has."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = tools

    async def listed(self, context: Context, params: PaginatedRequestParams | None) -> ListPromptsResult:
        """All prompts."""
        return ListPromptsResult(
            prompts=[
                Prompt(
                    name=name,
                    description=prompt.about,
                    arguments=[
                        PromptArgument(name=n, description=a.about, required=a.required)
                        for n, a in prompt.arguments.items()
                    ],
                )
                for name, prompt in PROMPTS.items()
            ]
        )

    async def got(self, context: Context, params: GetPromptRequestParams) -> GetPromptResult:
        """One prompt, filled in. Raises MCPError for an unknown one, or an argument that lacks."""
        prompt = PROMPTS.get(params.name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"there is no prompt {params.name!r}: {', '.join(PROMPTS)}")
        given = {}
        for name, argument in prompt.arguments.items():
            value = printable((params.arguments or {}).get(name, "").strip())[:MOST_NAME]
            if not value and argument.required:
                raise MCPError(INVALID_PARAMS, f"the prompt {params.name} needs {name}: {argument.about}")
            if value and argument.choices and value not in argument.choices:
                raise MCPError(INVALID_PARAMS, f"{name} is one of {', '.join(argument.choices)}")
            given[name] = value or argument.default
        text = "\n".join(prompt.steps(given, self._call))
        message = PromptMessage(role="user", content=TextContent(type="text", text=text))
        return GetPromptResult(description=prompt.about, messages=[message])

    def _call(self, tool: str, **arguments: Value) -> str:
        call = Call(tool, arguments)
        return str(served(call, self._tools) or call)
