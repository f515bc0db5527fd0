"""The wheel holds all that users need, and works away from the source tree."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from compass_agent import open_session
from hubs import serving, short_folder

ROOT = Path(__file__).resolve().parents[2]
INPUTS = ("src", "gen", "pyproject.toml", "README.md", "LICENSE")


def run(
    command: list[str], cwd: Path, path: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `command` in `cwd`; `path` is where Python looks first."""
    env = dict(os.environ)
    env.pop("PYTHONPATH", None)
    if path is not None:
        env["PYTHONPATH"] = str(path)
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the tree."""
    tree = tmp_path_factory.mktemp("tree")
    for name in INPUTS:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(ROOT / name, tree / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, tree / name)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", "out"]
    done = run(build, tree)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = (tree / "out").glob("*.whl")
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds what the wheel installs, and nothing else."""
    target = tmp_path_factory.mktemp("installed")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    done = run([*install, "--target", str(target), str(wheel)], target)
    assert done.returncode == 0, done.stdout + done.stderr
    return target


def test_the_wheel_holds_the_package_and_both_lanes_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    assert tops == {"compass_agent", "compass", "compass_subscriber"}
    for package in tops:
        assert f"{package}/py.typed" in names
    assert "compass/v1/compass_pb2.pyi" in names


def test_the_wheel_holds_every_file_of_its_packages(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    for top in ("src", "gen"):
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert path.relative_to(ROOT / top).as_posix() in names


def test_the_installed_command_tells_its_version(installed: Path, tmp_path: Path) -> None:
    (record,) = installed.glob("compass_agent-*.dist-info")
    version = record.stem.removeprefix("compass_agent-")
    done = run([str(installed / "bin/compass"), "--version"], tmp_path, installed)
    assert done.returncode == 0, done.stderr
    assert version in done.stdout


def test_the_installed_packages_import_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    code = (
        "import compass_agent, compass.v1.compass_pb2, compass.v1.agent_gateway_pb2_grpc\n"
        "import compass_subscriber.v1\n"
        "for module in compass_agent, compass.v1.compass_pb2, compass_subscriber.v1:\n"
        "    print(module.__file__)\n"
    )
    done = run([sys.executable, "-c", code], tmp_path, installed)
    assert done.returncode == 0, done.stderr
    assert all(Path(line).is_relative_to(installed) for line in done.stdout.splitlines())


SUBSCRIBER = """
import asyncio, sys
from importlib.util import find_spec
from compass_agent.client import Frame, tail
from compass_agent.view import fold

async def main():
    items = [item async for item in tail(sys.argv[1], "s1")]
    print(*(item.kind for item in items if isinstance(item, Frame) and item.kind))
    causes = [entry.cause for entry in fold(items) if hasattr(entry, "cause")]
    print(type(items[-1]).__name__, [cause.status for cause in causes])
    print([name for name in ("grpc", "starlette", "uvicorn", "mcp", "pytest") if find_spec(name)])

asyncio.run(main())
"""


@pytest.fixture
def subscribers_python(wheel: Path, tmp_path: Path) -> Path:
    """The Python of a new environment that holds the extra `subscriber` and what it needs."""
    python = tmp_path / "venv" / "bin" / "python"
    made = run([sys.executable, "-m", "venv", str(tmp_path / "venv")], tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    locked = (ROOT / "requirements-dev.txt").read_text("utf-8")
    pinned = re.findall(r"^[\w.-]+==\S+", locked, re.MULTILINE)
    (tmp_path / "pinned.txt").write_text("\n".join(pinned), "utf-8")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    what = ["--constraint", "pinned.txt", f"compass-agent[subscriber] @ {wheel.as_uri()}"]
    done = run([*install, *what], tmp_path)
    if done.returncode and "CI" not in os.environ and "NewConnectionError" in done.stderr:
        pytest.skip("there is no way to a package index")
    assert done.returncode == 0, done.stdout + done.stderr
    return python


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.requirement("G-CLIENT-4")
def test_a_subscriber_with_its_extra_alone_tails_a_hub(
    subscribers_python: Path, tmp_path: Path
) -> None:
    failed = {"role": "assistant", "stopReason": "error", "errorMessage": "no", "errorStatus": 529}
    with short_folder() as folder:
        log, socket = f"sqlite:{folder / 'hub.db'}", str(folder / "hub.sock")
        with open_session("s1", log=log) as session:
            session.feed({"type": "message_end", "message": failed})
        with serving("--log", log, "--unix", socket) as (_, (url, *_)):
            done = run([str(subscribers_python), "-c", SUBSCRIBER, url], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.splitlines() == ["session_error", "End [529]", "[]"]
