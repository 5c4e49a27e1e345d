"""What the fixed questions about PyTorch cost an agent, over the real bridge, against reading.

    python -m tests.bench.questions TREE [--write docs/agents.md]

Prints the table of docs/agents.md, and whatever fact did not come back. How tokens are counted, and what
reading is, says `tests/asked.py`.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from tests.asked import Cost, Question, asked, questions
from tests.bench.daemon import Agent
from tests.daemons import new_home

BEGIN, END = "<!-- questions -->", "<!-- /questions -->"


def table(costs: list[tuple[Question, Cost]]) -> str:
    """The table, in markdown."""
    rows = [
        "| question | calls | tokens | 100 lines around each fact | the files of the facts |",
        "| --- | --: | --: | --: | --: |",
    ]
    rows.extend(
        f"| {question.ask} | {cost.calls} | {cost.tokens:,} | {cost.around:,} | {cost.files:,} |"
        for question, cost in costs
    )
    calls, *sums = (
        sum(getattr(cost, name) for _, cost in costs) for name in ("calls", "tokens", "around", "files")
    )
    told = " | ".join(f"{number:,}" for number in sums)
    return "\n".join([*rows, f"| **{len(costs)} questions** | {calls} | {told} |"])


def main() -> None:
    """Prints the table, or writes it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", type=lambda text: Path(text).resolve())
    parser.add_argument("--write", type=Path, metavar="FILE", help="put the table into a page")
    given = parser.parse_args()
    with new_home() as home:
        home.start("index", "build", "--source", given.tree).communicate()
        agent = Agent(home, given.tree)
        costs = [(question, asked(question, given.tree, agent.call)) for question in questions(given.tree)]
        agent.end()
    made = table(costs)
    print(made)
    for question, cost in costs:
        for fact in cost.missing:
            print(f"missing: {question.ask}: {fact}")
    if given.write:
        page = given.write.read_text("utf-8")
        between = re.compile(f"{re.escape(BEGIN)}\n.*?{re.escape(END)}", re.DOTALL)
        given.write.write_text(between.sub(lambda _: f"{BEGIN}\n{made}\n{END}", page), "utf-8")


if __name__ == "__main__":
    main()
