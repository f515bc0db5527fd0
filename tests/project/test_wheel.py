"""The wheel holds all that users need, and works away from the source tree."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

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
