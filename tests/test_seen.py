"""What a file sees through its includes."""

from __future__ import annotations

from tests.facts_view import view_of_sources
from torchtalkd import keys
from torchtalkd.link.seen import is_seen

SOURCES = {
    "inc/lib/a.h": "struct A { void go(); };\nvoid free_one();\n",
    "inc/lib/b.h": '#include "a.h"\n#include <lib/c.h>\n',
    "inc/lib/c.h": "#include <lib/b.h>\nstruct C { void go() {} };\n",
    "src/a.cpp": "#include <lib/a.h>\nvoid A::go() {}\nvoid free_one() {}\nvoid hidden() {}\n",
    "src/far.cpp": "#if defined(X)\n#include <lib/b.h>\n#endif\nvoid user() {}\n",
    "src/alone.cpp": "void other() {}\n",
}


def test_what_is_declared_on_the_way_is_seen() -> None:
    view = view_of_sources(SOURCES)
    far, alone, header = (view.file(p) for p in ("src/far.cpp", "src/alone.cpp", "inc/lib/a.h"))
    assert far is not None and alone is not None and header is not None
    (method,) = (d for d in view.named(keys.cpp("go"), "A::go") if not d.fact.declares)
    (free,) = (d for d in view.definitions(keys.cpp("free_one")) if not d.fact.declares)
    (hidden,) = view.definitions(keys.cpp("hidden"))
    (in_circle,) = view.named(keys.cpp("go"), "C::go")
    assert is_seen(view, method, far) and is_seen(view, free, far) and is_seen(view, in_circle, far)
    assert not is_seen(view, hidden, far)
    assert not any(is_seen(view, d, alone) for d in (method, free, in_circle))
    # A header may be included where anything was included before.
    assert is_seen(view, hidden, header)
