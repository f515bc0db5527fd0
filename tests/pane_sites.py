"""`compass serve` as a browser reaches it, which can be killed and started again at its place."""

from __future__ import annotations

__all__ = ("TOKEN", "Site", "serving_site")

import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING

from commands import COMPASS

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

TOKEN = "0123456789abcdef" * 2


class Site:
    """A server over a log of its own.

    Attributes:
        log: The log's URL.
        base: Where the pages are, without a slash at the end.
    """

    def __init__(self, folder: Path) -> None:
        self.log = f"sqlite:{folder / 'site.db'}"
        self.base = ""
        self._folder = folder
        self._port = 0
        self._process: subprocess.Popen[str] | None = None
        self.change_token(TOKEN)

    def change_token(self, token: str) -> None:
        """Have the next start ask for another token; `page` keeps the first one."""
        (self._folder / "token").write_text(token + "\n", "ascii")

    def start(self) -> None:
        """Serve, at the same port as before."""
        given = ["--log", self.log, "--token-file", str(self._folder / "token")]
        given += ["--unix", str(self._folder / "hub.sock")]
        self._process = process = subprocess.Popen(
            [COMPASS, "serve", "--http", f"127.0.0.1:{self._port}", *given],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"XDG_STATE_HOME": str(self._folder / "state")},
        )
        assert process.stderr is not None
        while "listening at" not in (line := process.stderr.readline()):
            assert line, "the server did not start"
            if " at http://" in line:
                self.base = line.split(" at ")[1].split(";")[0].strip()
                self._port = int(self.base.rpartition(":")[2])

    def kill(self) -> None:
        """End it at once, as `kill -9` does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
            self._process = None

    def page(self, path: str = "/") -> str:
        """The address of a page, with the token in its fragment."""
        return f"{self.base}{path}#t={TOKEN}"


@contextmanager
def serving_site(folder: Path) -> Generator[Site]:
    """A server while the block runs."""
    site = Site(folder)
    site.start()
    try:
        yield site
    finally:
        site.kill()
