"""What a log's URL says of how it is kept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import Retention, default_path, log_file, log_url, open_log
from compass_agent.log.settings import parse_duration, parse_settings, parse_size, split_settings


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("90", 90), ("1.5h", 5400), ("2 min", 120), ("5m", 300), ("30d", 2592000)],
)
def test_a_duration_is_a_number_and_a_unit(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("4096", 4096), ("64KiB", 65536), ("500MB", 500_000_000), ("2g", 2 << 30)],
)
def test_a_size_is_a_number_and_a_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "d", "-1", "1e9", "1x", "1 2", "nan", "\N{ARABIC-INDIC DIGIT ONE}"]
)
def test_what_is_no_amount_is_refused(text: str) -> None:
    for parse in (parse_duration, parse_size):
        with pytest.raises(ValueError, match=f"^{text}$"):
            parse(text)


@pytest.mark.requirement("G-KEEP-3")
def test_settings_go_before_what_the_program_says() -> None:
    settings = "trace_frames=10&trace_bytes=1MiB&trace_age=1h&ended_age=7d&total_bytes=none"
    said = Retention(trace_frames=99, total_bytes=99)
    assert parse_settings(settings, said, "normal") == (
        Retention(10, 1 << 20, 3600.0, 7 * 86_400.0, None),
        "normal",
    )
    assert parse_settings("durability=full", said, "normal") == (said, "full")
    assert parse_settings("", said, "full") == (said, "full")
    assert Retention() == Retention(None, None, None, 30 * 86_400.0, 2 << 30)


def test_a_question_mark_that_no_setting_follows_belongs_to_the_name() -> None:
    assert split_settings("b ?#%.db") == ("b ?#%.db", "")
    assert split_settings("what?.db?trace_frames=1") == ("what?.db", "trace_frames=1")
    assert split_settings("a.db?x=1&y=") == ("a.db", "x=1&y=")


@pytest.mark.parametrize(
    "settings",
    ["trace_frame=1", "trace_frames=-1", "trace_frames=1.5", "ended_age=soon", "durability=some"],
)
@pytest.mark.parametrize("place", ["memory:", "memory:x", "sqlite:a.db", "sqlite:"])
def test_a_setting_that_means_nothing_is_refused_before_anything_is_opened(
    settings: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for call in (log_url, open_log):
        with pytest.raises(OperationError) as caught:
            call(f"{place}?{settings}")
        assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT
    assert [*tmp_path.iterdir()] == []


def test_a_limit_below_zero_is_refused() -> None:
    for limits in ({"trace_frames": -1}, {"ended_age_s": float("nan")}):
        with pytest.raises(OperationError) as caught:
            Retention(**limits)  # pyright: ignore[reportArgumentType] - one of each kind
        assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


async def test_the_file_and_what_is_kept_come_from_one_url(tmp_path: Path) -> None:
    url = f"sqlite:{tmp_path}/a.db?trace_frames=5&durability=full"
    assert log_file(log_url(url)) == tmp_path / "a.db"
    log = open_log(url, retention=Retention(ended_age_s=1))
    assert log.retention == Retention(trace_frames=5, ended_age_s=1)
    await log.aclose()
    assert os.listdir(tmp_path) == ["a.db"]  # noqa: PTH208 - a path's own way blocks


async def test_settings_without_a_path_are_those_of_the_file_in_the_state_folder() -> None:
    url = log_url("sqlite:?ended_age=none")
    assert log_file(url) == default_path()
    log = open_log(url)
    assert log.retention.ended_age_s is None
    await log.aclose()
    assert default_path().exists()
    assert log_file(log_url("memory:x?trace_frames=1")) is None


def test_a_shared_log_in_memory_keeps_what_was_said_last() -> None:
    log = open_log("memory:said?trace_frames=7")
    assert open_log("memory:said") is log
    assert log.retention.trace_frames == 7
    assert open_log("memory:said?trace_frames=8") is log
    assert log.retention.trace_frames == 8
