"""The page about errors shows the table of codes as it is, and the messages for HTTP answers."""

from __future__ import annotations

from pathlib import Path

from compass_agent.errors import ErrorCode, map_http_status_to_error, map_network_error
from compass_agent.errors.codes import TABLE

PAGE = (Path(__file__).resolve().parents[2] / "docs/errors.md").read_text("utf-8")


def rows() -> list[list[str]]:
    """Return the cells of every row of every table of the page."""
    lines = [line for line in PAGE.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_table_of_codes_is_the_one_that_counts() -> None:
    expected = [
        [
            f"`{code.value}`",
            str(row.http_status),
            row.grpc_status,
            str(row.exit_status),
            "yes" if row.retryable else "no",
            row.message,
            row.guidance,
        ]
        for code, row in TABLE.items()
    ]
    assert [
        row for row in rows() if row[0] in {f"`{code.value}`" for code in ErrorCode}
    ] == expected


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
