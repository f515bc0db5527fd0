"""Every rule for texts, and the order in which they are asked."""

from __future__ import annotations

import pytest

from compass_agent.errors import TEXT_RULES, ErrorCode, TextRule, classify_operation_error
from compass_agent.errors.codes import OperationError
from compass_agent.errors.text_rules import STORAGE_PREFIX


def code_of(text: str, rules: tuple[TextRule, ...] = TEXT_RULES) -> str:
    """Return the code for an exception that says only this; nothing is logged."""
    quiet: list[OperationError] = []
    return classify_operation_error(Exception(text), rules=rules, log=quiet.append).code.value


RULES = [
    ("Access denied", "permission_denied"),
    ("Access denied for you", "permission_denied"),
    ("Case access denied", "permission_denied"),
    ("Record is not accessible here", "permission_denied"),
    ("It is not linked to selected case", "permission_denied"),
    ("Context request not found", "not_found"),
    ("Case is unavailable", "not_found"),
    ("Case review unavailable", "not_found"),
    ("Subject outside of it", "not_found"),
    ("query returned no rows", "not_found"),
    ("Key already used for different request", "conflict"),
    ("There is a conflict", "conflict"),
    ("Evidence changed; read it again", "conflict"),
    ("The thing changed", "conflict"),
    ("It is disputed", "conflict"),
    ("Conflicting writes", "conflict"),
    ("Destination request busy", "conflict"),
    ("Release target changed", "conflict"),
    ("Invalid compiled brief", "internal"),
    ("Only Spotify tracks are enabled", "unsupported_input"),
    ("Use a shorter one", "unsupported_input"),
    ("Unsupported kind", "unsupported_input"),
    ("Context ingestion currently supports text", "unsupported_input"),
    ("Invalid cursor", "unsupported_input"),
    ("A brief requires a title", "unsupported_input"),
    ("Release track lookup currently supports one", "unsupported_input"),
    ("sorry, too many clients already", "unavailable"),
    ("too many connections for role", "unavailable"),
    ("connection refused by peer", "unavailable"),
    ("the call timed out", "unavailable"),
    ("too many items", "unsupported_input"),
    ("The export is not ready", "not_ready"),
    ("The export is not complete", "not_ready"),
    ("The parts are unavailable", "not_ready"),
    ("fetch failed", "unavailable"),
    ("canceling statement due to statement timeout", "unavailable"),
    ("canceling statement due to lock timeout", "unavailable"),
    ("could not serialize access due to x", "unavailable"),
    ("deadlock detected", "unavailable"),
    ("Search is not enabled", "unavailable"),
    ("Search is not configured", "unavailable"),
    ("Search is unavailable", "unavailable"),
]


@pytest.mark.parametrize(("text", "code"), RULES)
def test_a_text_has_its_code_with_the_storage_prefix_and_without(text: str, code: str) -> None:
    assert code_of(text) == code
    assert code_of(STORAGE_PREFIX + text) == code


@pytest.mark.parametrize(
    ("text", "code", "later"),
    [
        ("Access denied: query returned no rows changed", "permission_denied", "conflict"),
        ("Case is unavailable", "not_found", "unavailable"),
        ("Case review unavailable", "not_found", "unavailable"),
        ("Context request not found, it changed", "not_found", "conflict"),
        ("Invalid state changed", "conflict", "unsupported_input"),
        ("Release target changed, not ready", "conflict", "not_ready"),
        ("Invalid compiled brief changed", "conflict", "internal"),
        ("Invalid compiled brief is not ready", "internal", "not_ready"),
        ("Unsupported kind: timed out", "unsupported_input", "unavailable"),
        ("Invalid call: too many clients", "unsupported_input", "unavailable"),
        ("too many clients", "unavailable", "unsupported_input"),
        ("too many connections", "unavailable", "unsupported_input"),
        ("timed out after too many tries", "unavailable", "unsupported_input"),
        ("connection refused too many times, not ready", "unavailable", "not_ready"),
        ("too many are unavailable", "unsupported_input", "not_ready"),
        ("too many parts, fetch failed", "unsupported_input", "unavailable"),
        ("The parts are unavailable", "not_ready", "unavailable"),
        ("not complete: deadlock detected", "not_ready", "unavailable"),
    ],
)
def test_of_two_rules_that_fit_the_first_decides(text: str, code: str, later: str) -> None:
    assert code_of(text) == code
    fitting = [rule.code.value for rule in TEXT_RULES if rule.fits(text)]
    assert fitting[0] == code
    assert later in fitting[1:], "the text must fit a later rule too, or it shows nothing"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("access denied", "internal"),
        ("Organization access denied", "internal"),
        (STORAGE_PREFIX + "Organization access denied", "storage_failed"),
        (STORAGE_PREFIX, "storage_failed"),
        ("x" + STORAGE_PREFIX + "y", "internal"),
        ("read_sesion is no operation", "internal"),
        ("They said: Unsupported kind", "internal"),
        ("conflict", "internal"),
        ("", "internal"),
    ],
)
def test_case_and_place_matter_and_the_prefix_decides_the_rest(text: str, code: str) -> None:
    assert code_of(text) == code


def test_a_host_extends_or_replaces_the_rules() -> None:
    mine = TextRule(ErrorCode.PERMISSION_DENIED, starts=("Organization access denied",))
    text = STORAGE_PREFIX + "Organization access denied"
    assert code_of(text, (mine, *TEXT_RULES)) == "permission_denied"
    assert code_of("Case is unavailable", (mine, *TEXT_RULES)) == "not_found"
    assert code_of("Case is unavailable", (mine,)) == "internal"
    assert code_of("Access denied", ()) == "internal"


def test_a_rule_without_texts_fits_nothing() -> None:
    assert not TextRule(ErrorCode.INTERNAL).fits("")
    assert not TextRule(ErrorCode.INTERNAL).fits("anything")


def test_a_rule_may_have_one_text_alone() -> None:
    rule = TextRule(ErrorCode.NOT_READY, contains="abc")
    assert rule.fits("an abc")
    assert not rule.fits("a cab")
    assert TextRule(ErrorCode.NOT_READY, starts="abc").fits("abc, then")


def test_the_text_of_a_key_error_is_what_it_was_given() -> None:
    assert classify_operation_error(KeyError("Access denied")).code == "permission_denied"
