"""Which methods are taken from what can only be a value of Python's own types (`parse.python_plain`)."""

from __future__ import annotations

import textwrap

import pytest

from torchtalkd.conventions import load
from torchtalkd.parse import parse, plain_types
from torchtalkd.parse.plain_types import NOTHING, of

CONVENTIONS = load("pytorch")

PLAIN = {
    "text": "text = 'a,b'\ntext.split(',')",
    "text with values": "text = f'{t}'\ntext.split(',')",
    "of a call": "text = str(t)\ntext.split(',')",
    "of a call of a call": "str(t).strip().split()",
    "lists": "found = []\nfound.append(t)",
    "comprehension": "found = [x for x in t]\nfound.copy()",
    "mapping": "found = {}\nfound.update(a=1)",
    "set": "found = {1, 2}\nfound.add(t)",
    "made by its class": "found = collections.OrderedDict()\nfound.copy()",
    "mapping of lists": "found = collections.defaultdict(list)\nfound.copy()",
    "parameter": "text.split()",
    "parameter that may be None": "maybe.split()",
    "parameter of several types": "either.index(1)",
    "items of a parameter": "for word in words:\n    word.split()",
    "items of a comprehension": "[word.split() for word in words]",
    "numbered items": "for n, word in enumerate(words):\n    word.split()",
    "values of a mapping": "for name, text in names.items():\n    text.split()",
    "one of several": "found = [] if t else ()\nfound.count(1)",
    "in branches": "if t:\n    found = []\nelse:\n    found = None\nfound.append(1)",
    "again and again": "s = text\nwhile s:\n    s = s.strip()\ns.split()",
    "parts": "head, _, rest = text.partition(':')\nhead.split()",
    "added": "s = ''\ns += text\ns.split()",
    "formatted": "('%s' % t).split()",
    "attribute": "self.names.append(t)",
    "attribute of the class": "self.label.split()",
    "of the standard library": "path = os.path.join(t, 'a')\npath.split('/')",
    "of the module": "TABLE.update(a=t)",
    "in a function within": "found = []\ndef inner():\n    found.append(1)",
    "all other arguments": "rest.count(1)",
    "all other keywords": "more.copy()",
    "hidden by a lambda elsewhere": "found = []\nf = lambda found: 1\nfound.append(1)",
}
UNKNOWN = {
    "parameter": "t.split(1)",
    "parameter with a default": "other.split(1)",
    "assigned twice": "x = ''\nif t:\n    x = t\nx.split()",
    "unpacked": "x = ''\nx, y = t\nx.split()",
    "a loop's variable": "x = ''\nfor x in t:\n    pass\nx.split()",
    "with": "x = ''\nwith t as x:\n    x.split()",
    "walrus": "x = ''\nif (x := t):\n    x.split()",
    "nonlocal": "x = ''\ndef inner():\n    nonlocal x\n    x = t\nx.split()",
    "global": "global x\nx = []\nx.copy()",
    "match": "x = ''\nmatch t:\n    case [x]:\n        x.split()",
    "what a list holds that is added to": "q = ['a']\nq.append(t)\nq[0].split()",
    "what a list holds that is set": "q = ['a']\nq[0] = t\nfor a in q:\n    a.split()",
    "what is behind a name of its own": "z = [t]\nz = z[0]\nz.copy()",
    "what a mapping holds": "d = {}\nd.get(1).split()",
    "a name of a comprehension": "x = ''\n[x.split() for x in t]",
    "a parameter of a lambda": "x = ''\nf = lambda x: x.split()",
    "a method that its type has not": "found = []\nfound.split()",
    "a name that hides Python's own": "str = t\ns = str(t)\ns.split()",
    "an attribute that is set elsewhere": "self.what.split()",
    "an attribute that is a property": "self.made.split()",
    "an attribute of somebody else": "t.names.append(t)",
    "of a copy": "x = copy.copy(t)\nx.split()",
    "added to what is not known": "x = [] + t\nx.copy()",
    "only in a function within": "def inner():\n    free = []\nfree.append(1)",
    "another one with this name in a class": "class C:\n    free = []\nfree.append(1)",
    "nothing but None": "x = None\nx.split()",
    "annotated as a tensor": "x: torch.Tensor = []\nx.copy()",
    "a name that starts alike": "x = ''\nxx = t\nxx.split()",
}
FILE = """
import collections
import copy
import os
import torch
from typing import Dict, List, Optional, Union
TABLE = {{}}
class A:
    label: str = ""
    def __init__(self, x):
        self.names = []
        self.what = ""
    @property
    def made(self):
        return 1
    def f(
        self, t, text: str, words: List[str], names: Dict[str, str], maybe: Optional[str] = None,
        either: Union[list, tuple] = (), other="", *rest, **more
    ):
{body}
def set_what(a, x):
    a.what = x
    a.made = ""
"""


def methods(body: str) -> list[str]:
    """The methods of unknown receivers that a body calls, by the last line of it."""
    text = FILE.format(body=textwrap.indent(body, " " * 8))
    facts = parse("torch/a.py", text.encode(), CONVENTIONS)
    line = 19 + body.count("\n") + 1
    return [r.name for r in facts.references if r.kind == "method" and r.line == line]


@pytest.mark.parametrize("body", PLAIN.values(), ids=PLAIN)
def test_a_method_of_a_plain_value_names_nothing(body: str) -> None:
    """What can only be Python's own is no fact."""
    assert methods(body) == []


@pytest.mark.parametrize("body", UNKNOWN.values(), ids=UNKNOWN)
def test_what_is_not_proved_may_be_anything(body: str) -> None:
    """A receiver of which one place is not known keeps its reference."""
    assert methods(body)


def test_methods_are_asked_of_python() -> None:
    """What a method gives is what it gives when it is called."""
    text = of(str)
    assert {"split", "append", "update", "conjugate"} <= plain_types.methods()
    assert plain_types.result(text, "encode") == of(bytes)
    split = plain_types.result(text, "split")
    assert split is not None and split.types == {list} and split.item is not None
    assert split.item.types == {str}
    assert plain_types.result(of(list, text), "pop") == text
    assert plain_types.result(of(list), "pop") is None
    assert plain_types.result(of(dict, text, of(int)), "get") == of(int)
    assert plain_types.result(text, "no_such") is None
    assert plain_types.result(NOTHING, "split") == NOTHING


@pytest.mark.parametrize(
    "text",
    [
        b"def f():\n" + b"".join(b"    x%d = x%d\n" % (n, n + 1) for n in range(3000)) + b"    x0.split()\n",
        b"def f():\n    x = " + b"(" * 3000 + b"1" + b")" * 3000 + b"\n    x.conjugate()\n",
        b"def f():\n    x = ''\n" + b"    x = x.strip()\n" * 20_000 + b"    x.split()\n",
        b"def f(x: " + b"List[" * 500 + b"str" + b"]" * 500 + b"):\n    x.copy()\n",
        b"def f(:\n    x = ''\n    x.split()\n",
        b"(" * 3000 + b"a, b" + b")" * 3000 + b" = 1, 2\n",
        b"".join(b"v%d = [v%d]\n" % (n, n + 1) for n in range(20_000)),
        b"x = " + b"y[" * 3000 + b"0" + b"]" * 3000 + b"\n" + b"y." * 3000 + b"z()\n",
        b"getattr(m, " + b"a + " * 3000 + b"'b')\n",
    ],
    ids=["chain", "deep", "long", "nested", "broken", "target", "variables", "subscripts", "sum"],
)
def test_bad_texts_end(text: bytes) -> None:
    """No text takes long or raises."""
    assert parse("torch/a.py", text, CONVENTIONS).definitions


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"x = 1\nprint 'old'\n\ndef test_it():\n    pass\n", 2),
        (b"def test_it():\n    exec 'x'\n", 2),
        (b"def test_it():\n    print('new')\n    print ('new')\n    exec('x')\n", 0),
        (b'def test_it():\n    """\n    print this\n    """\n', 0),
    ],
)
def test_python_2_is_a_problem_and_no_more(text: bytes, line: int) -> None:
    """What the grammar reads of it is read all the same."""
    facts = parse("test/test_old.py", text, CONVENTIONS)
    assert [problem.line for problem in facts.problems] == ([line] if line else [])
    assert any(d.name.endswith("test_it") for d in facts.definitions)
