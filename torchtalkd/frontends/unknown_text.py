"""That something has no answer, and the names that exist and are spelled alike, as one line.

The pages of `trace` and `search` and the card have lines of their own for it.
"""

from __future__ import annotations

from collections.abc import Sequence

from torchtalkd.frontends.text import printable
from torchtalkd.queries.nearest import alike_words


def unknown_text(said: str, nearest: Sequence[str] = (), asked: str = "") -> str:
    """`said` is why there is no answer, `asked` the name that nothing has, `nearest` what may be meant."""
    if nearest:
        said += f"; {alike_words(asked, list(nearest))}: {', '.join(nearest)}"
    return printable(said)
