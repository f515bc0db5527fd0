"""Makes gen/ from proto/, or checks that gen/ is what proto/ makes.

    python proto/generate.py            write gen/
    python proto/generate.py --check    exit 1, with the differences, when gen/ is stale

Two lanes come out of the one contract:

    gen/compass             official protobuf (upb) with typed stubs, and grpcio stubs
    gen/compass_subscriber  betterproto2 dataclasses with grpclib client stubs

The bytes depend only on proto/ and on the pinned tools: not on the working directory, its
configuration files, PATH, or the Python version.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = "compass"
SUBSCRIBER = "compass_subscriber"
MARK = "# Made by proto/generate.py from proto/. Do not edit.\n"

# What these print is committed, so each is pinned; pyproject.toml pins the same in group `gen`.
PINNED = {
    "betterproto2_compiler": "0.10.1",
    "grpcio-tools": "1.82.3",
    "mypy-protobuf": "5.1.0",
    "ruff": "0.17.6",
}


class GenerateError(Exception):
    """Generation cannot go on; the text says why."""


def require_pinned_tools() -> None:
    """Raise GenerateError unless the installed tools are the pinned ones."""
    for name, wanted in PINNED.items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            raise GenerateError(f"{name} {wanted} is not installed; run `make setup`") from None
        if found != wanted:
            raise GenerateError(f"{name} is {found}, but gen/ is made with {wanted}")


def run_protoc(proto: Path, workdir: Path, sources: list[str], *options: str) -> None:
    """Run protoc in `workdir`, with plugins of this interpreter's environment only.

    An empty working directory matters: the betterproto2 plugin formats with the `ruff` that it
    finds on PATH and the configuration that ruff finds from there, and it skips package files
    that exist there.
    """
    env = dict(os.environ)
    env["PATH"] = str(Path(sys.executable).parent) + os.pathsep + env.get("PATH", "")
    env["RUFF_NO_CACHE"] = "true"
    command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{proto}", *options, *sources]
    done = subprocess.run(
        command, cwd=workdir, env=env, capture_output=True, text=True, check=False
    )
    complaints = [
        line for line in done.stderr.splitlines() if line and not line.startswith("Writing ")
    ]
    if done.returncode or complaints:
        raise GenerateError("\n".join(complaints) or f"protoc ended with {done.returncode}")


def make_runtime_lane(proto: Path, workdir: Path, sources: list[str], out: Path) -> None:
    """Write out/compass: messages with typed stubs, and grpc stubs where there is a service."""
    raw = workdir / "runtime"
    raw.mkdir()
    run_protoc(proto, workdir, sources, f"--python_out={raw}", f"--mypy_out={raw}")
    with_service = [
        source
        for source in sources
        if re.search(r"^service\s", (proto / source).read_text("utf-8"), re.MULTILINE)
    ]
    if with_service:
        run_protoc(
            proto, workdir, with_service, f"--grpc_python_out={raw}", f"--mypy_grpc_out={raw}"
        )
    target = out / RUNTIME
    shutil.move(raw / RUNTIME, target)
    for folder in [target, *(path for path in target.rglob("*") if path.is_dir())]:
        (folder / "__init__.py").write_text(MARK, "utf-8")
    (target / "py.typed").write_text("", "utf-8")


def make_subscriber_lane(proto: Path, workdir: Path, sources: list[str], out: Path) -> None:
    """Write out/compass_subscriber: the plugin's tree, its top package renamed.

    The plugin's imports are relative to its output folder; here that folder and the top package
    become one, so an import that reaches the folder loses one dot.
    """
    raw = workdir / "subscriber"
    raw.mkdir()
    (workdir / "ruff.toml").write_text('line-length = 100\ntarget-version = "py311"\n', "utf-8")
    run_protoc(
        proto,
        workdir,
        sources,
        f"--python_betterproto2_out={raw}",
        "--python_betterproto2_opt=client_generation=async,server_generation=none",
    )
    target = out / SUBSCRIBER
    shutil.move(raw / RUNTIME, target)
    for name in ("message_pool.py", "py.typed"):
        shutil.move(raw / name, target / name)
    for path in sorted(target.rglob("*.py")):
        text = path.read_text("utf-8")
        to_folder = "." * (len(path.relative_to(target).parts) + 1)
        pattern = rf"^from {re.escape(to_folder)}(?=[a-z])"
        text = re.sub(pattern, f"from {to_folder[1:]}", text, flags=re.MULTILINE)
        path.write_text(text or MARK, "utf-8")


def make(root: Path, out: Path) -> None:
    """Write both lanes of root/proto into the empty folder `out`."""
    proto = root / "proto"
    sources = sorted(path.relative_to(proto).as_posix() for path in proto.rglob("*.proto"))
    if not sources:
        raise GenerateError(f"no .proto file in {proto}")
    with tempfile.TemporaryDirectory(prefix="compass-generate-") as folder:
        workdir = Path(folder)
        make_runtime_lane(proto, workdir, sources, out)
        make_subscriber_lane(proto, workdir, sources, out)


def read_tree(folder: Path) -> dict[str, bytes]:
    """Return the files under `folder` by their relative path, without bytecode."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }


def differences(have: dict[str, bytes], want: dict[str, bytes]) -> list[str]:
    """Return one report line a file that is missing, extra or different, and a short diff."""
    lines: list[str] = []
    for name in sorted(have.keys() | want.keys()):
        old, new = have.get(name), want.get(name)
        if old is None:
            lines.append(f"gen/{name} is missing")
        elif new is None:
            lines.append(f"gen/{name} is extra: no .proto makes it")
        elif old != new:
            lines.append(f"gen/{name} differs")
            lines += list(
                difflib.unified_diff(
                    old.decode("utf-8", "replace").splitlines(),
                    new.decode("utf-8", "replace").splitlines(),
                    f"gen/{name} (committed)",
                    f"gen/{name} (made now)",
                    lineterm="",
                    n=1,
                )
            )[:40]
    return lines


def write_tree(gen: Path, want: dict[str, bytes]) -> None:
    """Replace the folder `gen` by `want`."""
    if gen.is_dir():
        shutil.rmtree(gen)
    for name, data in want.items():
        target = gen / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)


def main(arguments: list[str] | None = None) -> int:
    """Make gen/, or check it; return the exit status."""
    parser = argparse.ArgumentParser(description="Make gen/ from proto/.")
    parser.add_argument("--check", action="store_true", help="only check that gen/ is current")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder with proto/ and gen/")
    options = parser.parse_args(arguments)
    root: Path = options.root.resolve()
    try:
        require_pinned_tools()
        with tempfile.TemporaryDirectory(prefix="compass-gen-") as folder:
            make(root, Path(folder))
            want = read_tree(Path(folder))
    except GenerateError as error:
        print(f"generate: {error}", file=sys.stderr)
        return 2
    if not options.check:
        write_tree(root / "gen", want)
        print(f"generate: wrote {len(want)} files under gen/")
        return 0
    found = differences(read_tree(root / "gen"), want)
    if found:
        print("\n".join(found), file=sys.stderr)
        print("generate: gen/ is not what proto/ makes; run `make proto-gen`", file=sys.stderr)
        return 1
    print(f"generate: gen/ is current ({len(want)} files)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
