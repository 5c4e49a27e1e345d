"""The dispatch table in a trace: for the common backends which kernel runs, and why that one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from torchtalkd.link import builds
from torchtalkd.link.dispatch_table import dispatch_table
from torchtalkd.link.operators import Family
from torchtalkd.link.registered import fallbacks, registered, shown_keys
from torchtalkd.queries.answers import Item
from torchtalkd.queries.dispatch import why
from torchtalkd.queries.dispatch_kernels import kernels_of
from torchtalkd.store.view import View


def table_items(view: View, family: Family, overloads: frozenset[str]) -> Iterator[Item]:
    """One item for each overload and common backend: those of the default build, and those with a
    registration of their own, whatever the build."""
    known = view.rules.dispatch
    if not known.backends:
        return
    default = builds.build_named(view.rules)
    built = set(shown_keys(view.rules, default).table).intersection(known.backends)
    every = fallbacks(view, None)
    for operator, several in registered(view, family, None).items():
        if operator not in overloads:
            continue
        active = {one.dispatch_key: one for one in several if not one.hidden}
        common = tuple(key for key in view.rules.backends if key in built or key in active)
        for key, entry in dispatch_table(active, every, replace(known, table=common)).items():
            one = entry.registered
            if one is None or entry.kind == "backend fallback":
                continue
            kernel = kernels_of(view, one)[0]
            yield Item(
                role="entry",
                symbol=kernel.name,
                file=kernel.file,
                line=kernel.line,
                evidence="declared",
                operator=operator,
                dispatch_key=key,
                operators=(operator,),
                kind=entry.kind,
                declared_file=one.source.file.path,
                declared_line=one.source.fact.line,
                guard=one.guard,
                note=why(key, entry),
            )
