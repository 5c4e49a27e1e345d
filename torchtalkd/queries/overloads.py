"""Which overloads of an operator a call means."""

from __future__ import annotations

from torchtalkd.facts import FiledDefinition
from torchtalkd.link import operators, passed
from torchtalkd.queries.answers import Subject
from torchtalkd.queries.meant import Meant
from torchtalkd.store.view import View


def overloads(view: View, subject: Subject, meant: Meant | None = None) -> list[FiledDefinition]:
    """The entries of a subject's overloads that a call can mean, in the order of the text. Those that
    write to `out=` only where it is passed, or nothing else is left; what `autogen` makes last."""
    family = operators.family(view, subject.name)
    if family is None:
        return []
    wanted = frozenset(subject.overloads)
    entries = [e for e in family.entries if family.full_name(e) in wanted]
    if len(entries) < 2:
        return entries
    if meant is not None and meant.passed is not None:
        call, receiver = meant.passed, meant.receiver
        if receiver:
            methods = [e for e in entries if "method" in ((e.fact.detail or {}).get("variants") or ())]
            entries = methods or entries
        fitting = [
            e for e in entries if not e.fact.signature or passed.fits(e.fact.signature, call, receiver)
        ]
        entries = fitting or entries
        if "out" in call.keywords:
            return entries
    # Dimensions by name are what an overload is for that nobody means who gives a number or nothing.
    unnamed = [e for e in entries if "Dimname" not in e.fact.signature]
    entries = unnamed or entries
    plain = [e for e in entries if not operators.is_out(e) and not (e.fact.detail or {}).get("autogen_of")]
    return plain or entries
