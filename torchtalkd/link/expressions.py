"""What a Python expression comes to, as far as its text and some known names say. Pure.

For the arguments of test decorators and of OpInfo entries: numbers, text, lists, conditions and
comprehensions over them. Nothing is run: a name that means nothing here stays a `Named`, what a function
would return is an `Opaque`, and whatever depends on these is `UNKNOWN`. Python's own `ast` reads the text; a
syntax that it does not know is UNKNOWN, too.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import product
from typing import Any, Final

from torchtalkd.link.expression_values import (
    UNDEFINED,
    UNKNOWN,
    Attributed,
    Called,
    Named,
    Opaque,
    Unknown,
    compare,
    dotted_name,
    plain,
)


@lru_cache(maxsize=20_000)
def parsed(text: str) -> ast.expr | None:
    """The expression that a text is; None for what Python cannot read."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


MOST: Final = 5_000
"""Items of a list beyond which it is not worked out."""
_DEEPEST: Final = 60
_BINARY: Final[dict[type[ast.operator], Callable[[Any, Any], Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Mod: operator.mod,
    ast.FloorDiv: operator.floordiv,
    ast.BitOr: operator.or_,
}
_SAME: Final = frozenset(("list", "tuple", "set", "frozenset", "sorted", "reversed", "iter"))
"""Functions that keep the items of a list, whatever they make of their order."""
_TEXT: Final = frozenset(
    ("startswith", "endswith", "replace", "lower", "upper", "strip", "removeprefix", "split")
)


class Evaluation:
    """Works out expressions that share some names.

    `look_up` says what a name that no comprehension binds stands for, or is UNDEFINED; `call` what a
    function of that name makes of its arguments, or None.
    """

    def __init__(
        self,
        look_up: Callable[[str], Any] = lambda name: UNDEFINED,
        call: Callable[[str, list[Any], dict[str, Any]], Any] = lambda name, arguments, keywords: None,
    ) -> None:
        self._look_up = look_up
        self._call = call
        self._depth = 0
        self.certain = True
        """False once a condition was not known and the item was kept."""

    def text(self, text: str, bound: Mapping[str, Any] | None = None) -> Any:
        """What a text comes to."""
        node = parsed(text)
        return UNKNOWN if node is None else self.value(node, bound or {})

    def value(self, node: ast.expr, bound: Mapping[str, Any]) -> Any:
        """What an expression comes to; UNKNOWN where that is not certain."""
        if self._depth > _DEEPEST:
            return UNKNOWN
        self._depth += 1
        try:
            found = self._value(node, bound)
        except (TypeError, ValueError, ArithmeticError, AttributeError, LookupError):
            # What Python itself would not do with these values.
            return UNKNOWN
        finally:
            self._depth -= 1
        return UNKNOWN if isinstance(found, (list, tuple, str, set)) and len(found) > MOST else found

    def _value(self, node: ast.expr, bound: Mapping[str, Any]) -> Any:
        match node:
            case ast.Constant():
                return node.value
            case ast.Name():
                return self._name(node.id, bound)
            case ast.Attribute():
                return self._attribute(node, bound)
            case ast.List() | ast.Tuple() | ast.Set():
                items = self._items(node.elts, bound)
                return items if not isinstance(items, list) or isinstance(node, ast.List) else tuple(items)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
                return self._comprehension(node, bound)
            case ast.Call():
                return self._called(node, bound)
            case ast.BinOp():
                left, right = self.value(node.left, bound), self.value(node.right, bound)
                if UNKNOWN in (left, right) or isinstance(left, Opaque) or isinstance(right, Opaque):
                    return UNKNOWN
                if isinstance(node.op, ast.Add) and isinstance(left, (list, tuple)):
                    return [*left, *right] if isinstance(left, list) else (*left, *right)
                small = not isinstance(node.op, ast.Mult) or (isinstance(right, int) and abs(right) < MOST)
                return _BINARY[type(node.op)](left, right) if small else UNKNOWN
            case ast.UnaryOp():
                return self._unary(node, bound)
            case ast.BoolOp():
                return self._all_or_any(node, bound)
            case ast.Compare():
                return self._compared(node, bound)
            case ast.IfExp():
                truth = self.truth(self.value(node.test, bound))
                return UNKNOWN if truth is None else self.value(node.body if truth else node.orelse, bound)
            case ast.JoinedStr():
                return self._formatted(node, bound)
            case ast.Subscript(slice=ast.Slice() as part):
                return self._sliced(self.value(node.value, bound), part, bound)
            case ast.Subscript():
                whole, index = self.value(node.value, bound), self.value(node.slice, bound)
                known = isinstance(whole, (list, tuple, str, dict)) and isinstance(index, (int, str))
                return whole[index] if known else UNKNOWN
            case ast.Lambda():
                return Opaque()
            case ast.Dict():
                pairs = [
                    (k and self.value(k, bound), self.value(v, bound))
                    for k, v in zip(node.keys, node.values, strict=True)
                ]
                return UNKNOWN if any(k is None or k is UNKNOWN for k, _ in pairs) else dict(pairs)
        return UNKNOWN

    @staticmethod
    def truth(value: Any) -> bool | None:
        """Whether a value counts as true; None where that is not known."""
        if value is UNKNOWN or isinstance(value, Opaque):
            return None
        return bool(value)

    def _name(self, name: str, bound: Mapping[str, Any]) -> Any:
        if name in bound:
            return bound[name]
        found = self._look_up(name)
        return Named(name) if found is UNDEFINED else found

    def _attribute(self, node: ast.Attribute, bound: Mapping[str, Any]) -> Any:
        dotted = dotted_name(node)
        if dotted and dotted.partition(".")[0] not in bound:
            found = self._look_up(dotted)
            return Named(dotted) if found is UNDEFINED else found
        value = self.value(node.value, bound)
        if isinstance(value, Attributed):
            return value.attribute(node.attr)
        return Named(f"{value.name}.{node.attr}") if isinstance(value, Named) else UNKNOWN

    def _items(self, nodes: Iterable[ast.expr], bound: Mapping[str, Any]) -> list[Any] | Unknown:
        found: list[Any] = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                inner = self.value(node.value, bound)
                if not isinstance(inner, (list, tuple, set)):
                    return UNKNOWN
                found += inner
            else:
                found.append(self.value(node, bound))
        return found

    def _comprehension(
        self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp, bound: Mapping[str, Any]
    ) -> Any:
        rounds = [dict(bound)]
        for loop in node.generators:
            further: list[dict[str, Any]] = []
            for names in rounds:
                items = self.value(loop.iter, names)
                if not isinstance(items, (list, tuple, set, range, str, dict)):
                    return UNKNOWN
                for item in items:
                    inner = self._unpacked(loop.target, item, names)
                    if inner is None or len(further) > MOST:
                        return UNKNOWN
                    if self.kept(loop.ifs, inner):
                        further.append(inner)
            rounds = further
        found = []
        for names in rounds:
            value = self.value(node.elt, names)
            over = [names[t.id] for t in [g.target for g in node.generators] if isinstance(t, ast.Name)]
            if isinstance(value, (Unknown, Opaque)) and over and isinstance(over[0], Attributed):
                # `[translated(op) for op in op_db]`: another list of the same operators.
                value, self.certain = over[0].changed(), False
            found.append(value)
        return found

    def kept(self, conditions: Iterable[ast.expr], bound: Mapping[str, Any]) -> bool:
        """Whether conditions may hold: one that is not known counts as true, and is noted."""
        for condition in conditions:
            truth = self.truth(self.value(condition, bound))
            if truth is False:
                return False
            if truth is None:
                self.certain = False
        return True

    def _unpacked(self, target: ast.expr, item: Any, bound: Mapping[str, Any]) -> dict[str, Any] | None:
        if isinstance(target, ast.Name):
            return {**bound, target.id: item}
        if isinstance(target, (ast.Tuple, ast.List)) and isinstance(item, (list, tuple)):
            names = [t.id for t in target.elts if isinstance(t, ast.Name)]
            if len(names) == len(target.elts) == len(item):
                return {**bound, **dict(zip(names, item, strict=True))}
        return None

    def _sliced(self, whole: Any, part: ast.Slice, bound: Mapping[str, Any]) -> Any:
        ends = [e and self.value(e, bound) for e in (part.lower, part.upper, part.step)]
        known = isinstance(whole, (list, tuple, str)) and all(e is None or isinstance(e, int) for e in ends)
        # Of entries it is known which there are, but not in which order.
        listed = known and any(isinstance(item, Attributed) for item in whole)
        return whole[slice(*ends)] if known and not listed else UNKNOWN

    def _unary(self, node: ast.UnaryOp, bound: Mapping[str, Any]) -> Any:
        value = self.value(node.operand, bound)
        if isinstance(node.op, ast.Not):
            truth = self.truth(value)
            return UNKNOWN if truth is None else not truth
        number = isinstance(value, (int, float))
        return -value if number and isinstance(node.op, ast.USub) else UNKNOWN

    def _all_or_any(self, node: ast.BoolOp, bound: Mapping[str, Any]) -> Any:
        ends = isinstance(node.op, ast.Or)
        found: Any = not ends
        for part in node.values:
            value = self.value(part, bound)
            truth = self.truth(value)
            if truth is ends:
                return value
            found = UNKNOWN if truth is None or found is UNKNOWN else value
        return found

    def _compared(self, node: ast.Compare, bound: Mapping[str, Any]) -> Any:
        left = self.value(node.left, bound)
        for sign, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.value(right_node, bound)
            truth = compare(sign, left, right)
            if truth is not True:
                return UNKNOWN if truth is None else False
            left = right
        return True

    def _formatted(self, node: ast.JoinedStr, bound: Mapping[str, Any]) -> Any:
        text = ""
        for part in node.values:
            inner = part.value if isinstance(part, ast.FormattedValue) else part
            if isinstance(part, ast.FormattedValue) and (part.format_spec or part.conversion != -1):
                return UNKNOWN
            value = self.value(inner, bound)
            if not isinstance(value, (str, int)):
                return UNKNOWN
            text += str(value)
        return text

    def _called(self, node: ast.Call, bound: Mapping[str, Any]) -> Any:
        name = dotted_name(node.func)
        last = name.rpartition(".")[2]
        if last == "isinstance" and len(node.args) == 2:
            return self._instance(node, bound)
        if last == "filter" and len(node.args) == 2 and isinstance(node.args[0], ast.Lambda):
            return self._filtered(node.args[0], self.value(node.args[1], bound), bound)
        arguments = self._items(node.args, bound)
        if not isinstance(arguments, list):
            return UNKNOWN
        keywords = {k.arg: self.value(k.value, bound) for k in node.keywords if k.arg}
        if not name or name.partition(".")[0] in bound:
            return self._method(node, arguments, bound)
        found = self._call(name, arguments, keywords)
        if found is not None:
            return found
        if last == "filter" and len(arguments) == 2:
            self.certain = self.certain and arguments[0] is None
            return arguments[1]
        if last in _SAME and len(arguments) == 1 and isinstance(arguments[0], (list, tuple, set, range)):
            return list(arguments[0]) if last != "tuple" else tuple(arguments[0])
        if last == "range" and all(isinstance(a, int) for a in arguments):
            return list(range(*arguments)[:MOST])
        if (
            last in ("product", "chain")
            and all(isinstance(a, (list, tuple)) for a in arguments)
            and not keywords
        ):
            return list(product(*arguments)) if last == "product" else [i for a in arguments for i in a]
        if last in ("len", "str", "min", "max", "sum") and len(arguments) == 1 and plain(arguments[0]):
            known: dict[str, Callable[[Any], Any]] = {
                "len": len,
                "str": str,
                "min": min,
                "max": max,
                "sum": sum,
            }
            return known[last](arguments[0])
        return Called(name, arguments, keywords)

    def _method(self, node: ast.Call, arguments: list[Any], bound: Mapping[str, Any]) -> Any:
        if isinstance(node.func, ast.Attribute):
            receiver = self.value(node.func.value, bound)
            if isinstance(receiver, str) and node.func.attr in _TEXT and all(map(plain, arguments)):
                return getattr(receiver, node.func.attr)(*arguments)
        return UNKNOWN

    def _instance(self, node: ast.Call, bound: Mapping[str, Any]) -> Any:
        value = self.value(node.args[0], bound)
        classes = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
        names = [dotted_name(one).rpartition(".")[2] for one in classes]
        if not isinstance(value, Attributed) or not all(names):
            return UNKNOWN
        known = value.attribute("__mro__")
        return UNKNOWN if known is UNKNOWN else any(name in known for name in names)

    def _filtered(self, condition: ast.Lambda, items: Any, bound: Mapping[str, Any]) -> Any:
        parameters = [a.arg for a in condition.args.args]
        if not isinstance(items, (list, tuple)) or len(parameters) != 1:
            return UNKNOWN
        return [item for item in items if self.kept([condition.body], {**bound, parameters[0]: item})]
