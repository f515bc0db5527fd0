"""Records what the installed commands of agents write: `python tests/clis/record.py FOLDER AGENT…`.

Each run is of a real command against the provider of `provider.py`, in a home of its own. The
command is found on the PATH, or named by `CLAUDE`, `CODEX` and `GEMINI` in the environment.
"""

from __future__ import annotations

__all__ = ("main",)

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from provider import Provider

if TYPE_CHECKING:
    from collections.abc import Callable

_RUN_S = 100
# The scene of the provider, and after which number of lines the run is interrupted.
SCENARIOS: dict[str, tuple[str, int | None]] = {
    "text": ("ok", None),
    "tools": ("tool", None),
    "plan": ("plan-tool", None),
    "err-401": ("401", None),
    "err-429": ("429", None),
    "err-500": ("500", None),
    "err-mid": ("mid", None),
    "err-cut": ("cut", None),
    "sigint-streaming": ("slow", 1),
    "sigint-tool": ("slow-tool", 1),
}
_PROMPT = "Say hello."


def _claude(url: str, home: str) -> tuple[list[str], dict[str, str]]:
    settings = {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-loopback",
        "CLAUDE_CONFIG_DIR": f"{home}/.claude",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",
    }
    command = [
        os.environ.get("CLAUDE", "claude"),
        *("-p", _PROMPT, "--output-format", "stream-json", "--verbose"),
        *("--include-partial-messages", "--permission-mode", "bypassPermissions"),
        *("--model", "claude-sonnet-4-5", "--setting-sources", ""),
    ]
    return command, settings


def _codex(url: str, home: str) -> tuple[list[str], dict[str, str]]:
    config = {
        "model_provider": '"loopback"',
        "model_providers.loopback.name": '"Loopback"',
        "model_providers.loopback.base_url": f'"{url}"',
        "model_providers.loopback.wire_api": '"responses"',
        "model_providers.loopback.env_key": '"LOOPBACK_KEY"',
        "model_providers.loopback.request_max_retries": "1",
        "model_providers.loopback.stream_max_retries": "1",
    }
    command = [
        os.environ.get("CODEX", "codex"),
        *("exec", "--json", "--skip-git-repo-check"),
        *("--dangerously-bypass-approvals-and-sandbox", "-m", "gpt-5"),
    ]
    for name, value in config.items():
        command += ["-c", f"{name}={value}"]
    return [*command, _PROMPT], {"CODEX_HOME": f"{home}/.codex", "LOOPBACK_KEY": "sk-loopback"}


def _gemini(url: str, home: str) -> tuple[list[str], dict[str, str]]:
    folder = Path(home, ".gemini")
    folder.mkdir(exist_ok=True)
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "general": {"maxAttempts": 2, "enableAutoUpdate": False},
    }
    Path(folder, "settings.json").write_text(json.dumps(settings), "utf-8")
    command = [
        os.environ.get("GEMINI", "gemini"),
        *("-p", _PROMPT, "--output-format", "stream-json", "--yolo", "--skip-trust"),
        *("-m", "gemini-2.5-flash"),
    ]
    keys = {
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_API_KEY": "loopback",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }
    return command, keys


AGENTS: dict[str, tuple[str, Callable[[str, str], tuple[list[str], dict[str, str]]]]] = {
    "claude": ("claude-code", _claude),
    "codex": ("codex", _codex),
    "gemini": ("gemini", _gemini),
}


def _read_all(stream: IO[bytes] | None, into: list[bytes]) -> None:
    if stream is not None:
        into.append(stream.read())


def _run(agent: str, scenario: str, folder: Path) -> None:
    scene, lines = SCENARIOS[scenario]
    with tempfile.TemporaryDirectory() as home, Provider(home) as provider:
        Path(home, ".codex").mkdir()
        command, settings = AGENTS[agent][1](f"{provider.url}/{scene}", home)
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment = {**keep, "HOME": home, "NO_PROXY": "127.0.0.1", **settings}
        version = subprocess.run(
            [command[0], "--version"], capture_output=True, text=True, env=environment, check=False
        ).stdout.split()
        started = time.monotonic()
        process = subprocess.Popen(
            command,
            cwd=home,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        stop = threading.Timer(_RUN_S, os.killpg, (process.pid, signal.SIGKILL))
        stop.start()
        stderr: list[bytes] = []
        reader = threading.Thread(target=_read_all, args=(process.stderr, stderr))
        reader.start()
        data = b""
        arrivals: list[int] = []
        for number, line in enumerate(process.stdout or (), 1):
            data += line
            arrivals.append(round((time.monotonic() - started) * 1000))
            if lines is not None and number == lines:
                threading.Timer(3.0, process.send_signal, (signal.SIGINT,)).start()
        code = process.wait()
        reader.join()
        stop.cancel()
        text = data.decode().replace(home, "/home/user")
    meta: dict[str, Any] = {
        "agent": AGENTS[agent][0],
        "version": next((word for word in version if word[0].isdigit()), ""),
        "scenario": scenario,
        "exit_code": code,
        "stderr": b"".join(stderr).decode()[-4000:].replace(home, "/home/user"),
        "arrival_ms": arrivals,
    }
    path = folder / agent / f"{scenario}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    Path(f"{path}.meta.json").write_text(json.dumps(meta) + "\n", "utf-8")
    print(f"{agent} {scenario}: exit {code}, {len(arrivals)} lines", [h[:2] for h in provider.hits])


def main(arguments: list[str]) -> None:
    """Record all scenarios of the agents that are named, or `AGENT:SCENARIO`."""
    folder = Path(arguments[0])
    for name in arguments[1:]:
        agent, _, scenario = name.partition(":")
        for wanted in [scenario] if scenario else SCENARIOS:
            _run(agent, wanted, folder)


if __name__ == "__main__":
    main(sys.argv[1:])
