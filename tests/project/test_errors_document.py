"""The page about errors shows the tables of the code, and the messages for HTTP answers.

`COMPASS_WRITE_DOCS=1` writes the tables.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from compass_agent.errors import map_http_status_to_error, map_network_error
from compass_agent.errors.advice import ALL_ADVICE
from compass_agent.errors.codes import TABLE
from compass_agent.frames import SessionErrorKind

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/errors.md"
AGAIN = {True: "yes", False: "no", None: "not known"}
KIND = re.compile(r"((?: *//[^\n]*\n)+) *SESSION_ERROR_KIND_(\w+) = \d+;")


def table(*rows: tuple[str, ...]) -> str:
    """Return a table in Markdown; the first row is its head."""
    lines = [rows[0], tuple("---" for _ in rows[0]), *rows[1:]]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def codes() -> str:
    head = ("code", "HTTP", "gRPC", "exit status", "retryable", "message", "guidance")
    return table(
        head,
        *(
            (
                f"`{code.value}`",
                str(row.http_status),
                row.grpc_status,
                str(row.exit_status),
                AGAIN[row.retryable],
                row.message,
                row.guidance,
            )
            for code, row in TABLE.items()
        ),
    )


def kinds() -> str:
    """Return the kinds of `SessionError`, with the comments that the contract has for them."""
    contract = (ROOT / "proto/compass/v1/compass.proto").read_text("utf-8")
    found = {
        name: " ".join(line.strip(" /") for line in comment.splitlines())
        for comment, name in KIND.findall(contract)
    }
    return table(("kind", "meaning"), *((f"`{kind}`", told) for kind, told in found.items()))


def advice() -> str:
    return table(
        ("what it is", "worth trying again", "what to do"),
        *((one.title, AGAIN[one.retryable], one.guidance) for one in ALL_ADVICE),
    )


MADE = {"codes": codes, "kinds": kinds, "advice": advice}


@pytest.mark.parametrize("name", MADE)
def test_a_table_of_the_page_is_what_the_code_says(name: str) -> None:
    page = PAGE.read_text("utf-8")
    head, begin, rest = page.partition(f"<!-- {name}: begin -->\n")
    shown, end, foot = rest.partition(f"<!-- {name}: end -->\n")
    assert begin
    assert end
    made = f"\n{MADE[name]()}\n"
    if os.environ.get("COMPASS_WRITE_DOCS") == "1":
        PAGE.write_text(head + begin + made + end + foot, "utf-8")
        return
    assert shown == made, "run this test with COMPASS_WRITE_DOCS=1"


def test_the_contract_names_the_kinds_that_there_are() -> None:
    names = [name.removeprefix("SESSION_ERROR_KIND_") for name in dict(SessionErrorKind.items())]
    assert [row.split("`")[1] for row in kinds().splitlines()[2:]] == names


def rows() -> list[list[str]]:
    """Return the cells of every row of every table of the page."""
    lines = [line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_messages_for_http_answers_are_those_that_come() -> None:
    shown = {row[0]: (row[1], row[2]) for row in rows() if len(row) == 3}
    for name, status, headers in (
        ("401", 401, None),
        ("404", 404, None),
        ("429", 429, {"Retry-After": "30"}),
        ("500 and above", 502, None),
        ("any other failure", 403, None),
    ):
        error = map_http_status_to_error(status, headers, service="Acme", key_var="ACME_KEY")
        assert shown[name] == (f"`{error.code}`", error.message)
    away = map_network_error(
        TimeoutError(),
        "https://acme.example/v1",
        service="Acme",
        key_var="ACME_KEY",
        url_var="ACME_URL",
    )
    assert away is not None
    assert shown["none"] == (f"`{away.code}`, status {away.status_code}", away.message)
