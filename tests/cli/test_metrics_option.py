"""`--metrics` gives the counters of a command to the OpenTelemetry SDK of its process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from commands import compass
from hubs import short_folder

if TYPE_CHECKING:
    from pathlib import Path

# What opentelemetry-instrument does, with an exporter that prints.
WITH_SDK = """
import sys
from opentelemetry.metrics import set_meter_provider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import ConsoleMetricExporter, PeriodicExportingMetricReader
exporter = ConsoleMetricExporter(formatter=lambda data: data.to_json(indent=None) + "\\n")
set_meter_provider(MeterProvider([PeriodicExportingMetricReader(exporter)]))
from compass_agent.cli import main
sys.exit(main(sys.argv[1:]))
"""
# Its collector takes the connection and never answers.
WITH_DEAD_COLLECTOR = WITH_SDK.replace(
    "set_meter_provider(M",
    "import threading\n"
    "exporter.export = lambda *_, **__: threading.Event().wait()\n"
    "set_meter_provider(M",
)
WITHOUT_EXTRA = """
import sys
sys.modules["opentelemetry.metrics"] = None
from compass_agent.cli import main
sys.exit(main(sys.argv[1:]))
"""


def values_in(printed: str) -> dict[str, list[int]]:
    """The values of each metric in what was exported last."""
    data: Any = json.loads(printed.splitlines()[-1])
    (scope,) = data["resource_metrics"][0]["scope_metrics"]
    return {
        metric["name"]: [point["value"] for point in metric["data"]["data_points"]]
        for metric in scope["metrics"]
    }


def test_run_exports_what_its_session_counted() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITH_SDK, "run", "--metrics", "--", "echo", "hello"],
        capture_output=True,
        text=True,
        timeout=45,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    values = values_in(done.stdout)
    assert sum(values["compass.frames.emitted"]) >= 3
    assert values["compass.frames.emitted"] == values["compass.frames.delivered"]
    assert "no metrics" not in done.stderr


def test_serve_exports_what_its_hub_took() -> None:
    with short_folder() as folder:
        place = folder / "hub.sock"
        with subprocess.Popen(
            [sys.executable, "-c", WITH_SDK, "serve", "--metrics", "--unix", place],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as hub:
            try:
                assert hub.stderr is not None
                while "listening at" not in hub.stderr.readline():
                    pass
                assert compass("run", "--log", f"unix:{place}", "--", "true").returncode == 0
                hub.send_signal(signal.SIGTERM)
                printed, said = hub.communicate(timeout=20)
            finally:
                hub.kill()
    assert hub.returncode == 0, said
    assert values_in(printed)["compass.hub.batches"][0] >= 1


@pytest.mark.parametrize(
    "command", ["run --metrics -- true", pytest.param("serve --metrics", marks=pytest.mark.slow)]
)
def test_a_collector_that_never_answers_does_not_hold_up_the_end(command: str) -> None:
    with (
        short_folder() as folder,
        subprocess.Popen(
            [sys.executable, "-c", WITH_DEAD_COLLECTOR, *command.split()],
            env={**os.environ, "XDG_RUNTIME_DIR": str(folder)},
            stderr=subprocess.PIPE,
            text=True,
        ) as process,
    ):
        try:
            assert process.stderr is not None
            if command.startswith("serve"):
                while "listening at" not in process.stderr.readline():
                    pass
                process.send_signal(signal.SIGTERM)
            # The SDK by itself would wait for thirty seconds.
            assert process.wait(20) == 0
        finally:
            process.kill()


def test_without_an_sdk_the_command_says_so_and_goes_on(tmp_path: Path) -> None:
    done = compass("run", "--metrics", "--", "touch", tmp_path / "made")
    assert done.returncode == 0
    # Without the dashes the launcher takes --metrics for an option of its own, and refuses it.
    assert "no OpenTelemetry SDK is set up (try opentelemetry-instrument -- comp" in done.stderr
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize("command", [["run", "--metrics", "--", "true"], ["serve", "--metrics"]])
def test_without_the_extra_the_command_says_what_to_install(command: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRA, *command],
        capture_output=True,
        text=True,
        timeout=45,
        check=False,
    )
    assert done.returncode not in (0, 1)
    assert "pip install 'compass-agent[otel]'" in done.stderr
    assert "Traceback" not in done.stderr
