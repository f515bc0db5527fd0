"""The libraries that the session pane has from others: checked, or made anew.

    python tests/vendoring.py            checks the files against their checksums; needs no network
    python tests/vendoring.py --remake   makes them of the published archives; needs npm and node

An upgrade is a new version in VENDORED.toml, `--remake`, and the checksums that it prints.
"""

from __future__ import annotations

__all__ = ("FOLDER", "STATIC", "Library", "libraries", "wrong")

import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

_PANE = Path(__file__).resolve().parents[1] / "src" / "compass_agent" / "pane"
FOLDER = _PANE / "vendored"
STATIC = _PANE / "static"
_LIST = FOLDER / "VENDORED.toml"
# What the page uses of each; of the rest nothing is shipped.
_ENTRIES = {
    "marked": 'import { _Lexer } from "./Lexer.ts";\n'
    "export const lexer = (text: string) => _Lexer.lex(text);\n",
    "diff": 'export { diffArrays } from "./libesm/index.js";\n',
}


class Library(NamedTuple):
    """One library, as VENDORED.toml has it."""

    name: str
    version: str
    licence: str
    licence_file: str
    archive_sha256: str
    file: str
    sha256: str
    what: str


def libraries() -> list[Library]:
    """All libraries."""
    return [Library(**one) for one in _list()["library"]]


def wrong() -> list[str]:
    """What does not agree with VENDORED.toml."""
    found = [
        f"{one.file} is not what VENDORED.toml says: {_sha256(STATIC / one.file)}"
        for one in libraries()
        if _sha256(STATIC / one.file) != one.sha256
    ]
    listed = {one.file for one in libraries()}
    there = {path.relative_to(STATIC).as_posix() for path in (STATIC / "vendor").iterdir()}
    found += [f"{name} is not in VENDORED.toml" for name in sorted(there - listed)]
    return found + [
        f"{one.name} has no licence"
        for one in libraries()
        if one.licence.split("-")[0] not in (FOLDER / one.licence_file).read_text("utf-8")
    ]


def _list() -> dict[str, Any]:
    return tomllib.loads(_LIST.read_text("utf-8"))


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _remake(folder: Path) -> None:
    listed = _list()
    bundler = f"{listed['bundler']}@{listed['bundler_version']}"
    _run(["npm", "install", "--silent", "--no-save", "--prefix", str(folder), bundler], folder)
    for one in libraries():
        _run(["npm", "pack", "--silent", f"{one.name}@{one.version}"], folder)
        archive = folder / f"{one.name}-{one.version}.tgz"
        if _sha256(archive) != one.archive_sha256:
            sys.exit(f"{archive.name} is not the one that was looked at: {_sha256(archive)}")
        place = folder / one.name
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")
        entry = _entry(one.name, place / "package")
        made = folder / Path(one.file).name
        given = [str(entry), "--bundle", "--minify", "--format=esm", "--target=es2022"]
        _run([str(folder / "node_modules/.bin/esbuild"), *given, f"--outfile={made}"], folder)
        shutil.copy(made, STATIC / one.file)
        print(f"{one.file} {_sha256(made)}")


def _entry(name: str, package: Path) -> Path:
    """Return the file that says what of a package is used."""
    if name != "marked":
        entry = package / "entry.js"
    else:
        # Its one file holds parser and renderer too; the map beside it has the sources apart.
        sources = json.loads((package / "lib/marked.esm.js.map").read_text("utf-8"))
        for source, text in zip(sources["sources"], sources["sourcesContent"], strict=True):
            (package / Path(source).name).write_text(text, "utf-8")
        entry = package / "entry.ts"
    entry.write_text(_ENTRIES[name], "utf-8")
    return entry


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def main() -> int:
    """Check, or make anew; return the exit status."""
    if "--remake" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            _remake(Path(folder))
    found = wrong()
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
