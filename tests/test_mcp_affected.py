"""The page of `affected`: what is certain and near comes first, nothing is lost on further pages."""

from __future__ import annotations

from torchtalkd.frontends.mcp import replies
from torchtalkd.frontends.mcp.affected_page import affected_page
from torchtalkd.frontends.mcp.calls import Call
from torchtalkd.frontends.mcp.replies import Asked
from torchtalkd.queries.affected import AffectedAnswer, ChangedThing
from torchtalkd.queries.affected_tests import AffectedTest
from torchtalkd.queries.answers import Standing

KERNEL = ChangedThing("at::native::f", "C++ function", "aten/F.cpp", 12)


def answer(*tests: AffectedTest, everything: tuple[str, ...] = ()) -> AffectedAnswer:
    return AffectedAnswer(("f",), 3, (KERNEL,), tests, 900, Standing(7), everything)


def reached(number: int, certainty: str, hops: int, cpp: bool = False) -> AffectedTest:
    module = f"test.test_{number}.TestF.test_f"
    why = (module, *(f"torch.hop{n}" for n in range(hops)), KERNEL.name)
    return AffectedTest(f"test/test_{number}.py", certainty, (), why, cpp)


def test_what_is_certain_and_near_comes_first() -> None:
    page = affected_page(
        answer(
            reached(1, "possible", 0),
            reached(2, "certain", 6),
            reached(3, "certain", 1),
            reached(4, "possible", 1, cpp=True),
        )
    )
    assert page.split("\n") == [
        "affected by f: 3 of 900 test files and 1 of C++ · revision 7 · 2 of them not certain",
        "aten/F.cpp:12  at::native::f  C++ function",
        "certain (2):",
        "  test/: test_2.py, test_3.py",
        "possible, by names that may mean several things (1):",
        "  test/: test_1.py",
        "of C++ (1):",
        "  test/: test_4.py",
        "ways, certain:",
        "  test/test_3.py  TestF.test_f > torch.hop0",
        "  test/test_2.py  TestF.test_f > torch.hop0 > … 4 more > torch.hop5",
        "ways, possible:",
        "  test/test_1.py  TestF.test_f",
        "ways, of C++:",
        "  test/test_4.py  TestF.test_f > torch.hop0",
    ]


def test_where_nothing_can_be_narrowed_it_says_so() -> None:
    many = tuple(AffectedTest(f"test/t{n}.py", "everything", (), ()) for n in range(900))
    lines = affected_page(answer(*many, everything=("a header changed",))).split("\n")
    assert "everything, because a header changed" in lines and len(lines) < 5


def test_the_first_page_has_every_file_and_the_others_every_way() -> None:
    tests = [reached(n, ("certain", "possible")[n % 2], 3) for n in range(400)]
    whole = affected_page(answer(*tests))
    ways: list[str] = []
    for number in range(1, 20):
        text = replies.reply(whole, [], Asked(Call("affected", {"funcs": "f", "page": number})), ())
        assert len(text.encode()) < 10_000
        if number == 1:
            assert all(one.file.rpartition("/")[2] in text for one in tests)
        ways.extend(line.split()[0] for line in text.split("\n") if line.startswith("  test/test_"))
        if f"page={number + 1}" not in text:
            break
    assert sorted(ways) == sorted(one.file for one in tests)
