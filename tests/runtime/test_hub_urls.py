"""Which URLs name a hub, and what a session does with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from compass_agent import open_session
from compass_agent.errors.codes import ErrorCode, OperationError
from compass_agent.log import default_socket, is_hub, log_url, open_log


def test_a_path_of_a_socket_is_made_absolute_and_has_a_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert log_url("unix:hub.sock") == f"unix:{tmp_path}/hub.sock"
    assert log_url("unix:~/hub.sock") == f"unix:{tmp_path}/home/hub.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    assert log_url("unix:") == f"unix:{tmp_path}/run/compass/hub.sock"
    for value in ("", "relative/run"):
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
        assert default_socket() == tmp_path / "state" / "compass" / "hub.sock"


@pytest.mark.parametrize("url", ["grpc://host:1", "grpc://[::1]:7330", "grpc://10.0.0.1:80"])
def test_a_host_and_a_port_name_a_hub(url: str) -> None:
    assert log_url(url) == url
    assert is_hub(url)
    assert not is_hub(log_url("memory:"))
    assert not is_hub(log_url("sqlite:/x"))


@pytest.mark.parametrize(
    "url", ["grpc:", "grpc://", "grpc://host", "grpc:host:1", "grpc://a@b:1", "grpc://h:1/x"]
)
def test_what_names_no_host_and_port_is_refused(url: str) -> None:
    with pytest.raises(OperationError) as caught:
        log_url(url)
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


def test_a_hub_is_no_log_to_be_opened() -> None:
    for url in ("unix:/x/hub.sock", "grpc://host:1"):
        with pytest.raises(OperationError) as caught:
            open_log(url)
        assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT


def test_without_the_extra_a_session_refuses_a_hub_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(OperationError) as caught:
        open_session("s1", log="unix:/x/hub.sock")
    assert caught.value.code is ErrorCode.UNSUPPORTED_INPUT
    open_session("s1", log="memory:")


def test_a_session_whose_hub_is_away_neither_raises_nor_takes_long_to_close(
    tmp_path: Path,
) -> None:
    with open_session("s1", log=f"unix:{tmp_path}/hub.sock", close_timeout=0.2) as session:
        session.notice("hello")
    counted = session.statistics()
    assert (counted.trace.delivered, counted.trace.emitted) == (0, 1)


def test_trace_for_a_log_that_cannot_be_opened_is_counted_as_lost(tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_bytes(b"this is no database at all, only some text" * 50)
    with open_session("s1", log=f"sqlite:{tmp_path}/junk.db", close_timeout=0.5) as session:
        session.notice("hello")
    trace = session.statistics().trace
    assert (trace.lost, trace.waiting, trace.in_doubt) == (1, 0, 0)


def test_grpc_is_imported_by_who_publishes_to_a_hub_alone(tmp_path: Path) -> None:
    program = (
        "import sys\n"
        "from compass_agent import open_session\n"
        f"with open_session('s1', log={f'sqlite:{tmp_path}/x.db'!r}): pass\n"
        "sys.exit('grpc' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, timeout=30)
    assert done.returncode == 0
