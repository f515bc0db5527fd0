"""Every module says what it exports, exactly, and the names that others rely on are there."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"

# Public from the first release on; everything else may move.
FACADES = {
    "compass_agent": (
        "open_session",
        "Session",
        "EventMapper",
        "UnmappedEvent",
        "FrameSink",
        "Pump",
        "SinkStatistics",
        "OperationError",
        "ErrorCode",
        "__version__",
    ),
    "compass_agent.frames": ("is_lifecycle", "is_injection", "is_session_error", "Cursor"),
    "compass_agent.adapters": ("detect",),
    "compass_agent.adapters.pi": ("Adapter",),
    "compass_agent.errors": (
        "OperationError",
        "ErrorCode",
        "describe_failure",
        "advise",
        "redact",
        "retry_after_seconds",
    ),
    "compass_agent.log": ("open_log",),
    "compass_agent.telemetry": ("export_metrics", "carry_traces", "context_of"),
    "compass_agent.view": ("fold", "neutralise"),
}


def module_name(path: Path) -> str:
    """Return the dotted name of a source file."""
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def exports(tree: ast.Module) -> list[str] | None:
    """Return the names of `__all__` when it is a plain tuple of texts, else None."""
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.Tuple(elts=elements)):
                names = [item.value for item in elements if isinstance(item, ast.Constant)]
                return [str(name) for name in names] if len(names) == len(elements) else None
            case _:
                pass
    return None


def defined(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the names that the module itself defines at its top, imports apart."""
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node.name
            case ast.Assign():
                yield from (item.id for item in node.targets if isinstance(item, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If():
                yield from defined([*node.body, *node.orelse])
            case ast.Try():
                yield from defined([*node.body, *node.orelse, *node.finalbody])
                for handler in node.handlers:
                    yield from defined(handler.body)
            case _:
                pass


@pytest.mark.parametrize("name", MODULES)
def test_a_module_opens_with_its_promise_then_its_exports(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    assert ast.get_docstring(tree), "no docstring"
    future, declared = tree.body[1:3]
    assert ast.unparse(future) == "from __future__ import annotations"
    assert ast.unparse(declared).startswith("__all__ = (")


@pytest.mark.parametrize("name", MODULES)
def test_exports_are_exact(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text("utf-8"))
    listed = exports(tree)
    assert listed is not None, "__all__ is no tuple of texts"
    assert len(listed) == len(set(listed))
    public = {item for item in defined(tree.body) if not item.startswith("_")}
    assert public <= set(listed), "public names that __all__ leaves out"
    module = importlib.import_module(name)
    assert [item for item in listed if not hasattr(module, item)] == []


@pytest.mark.parametrize("name", FACADES)
def test_the_names_that_others_rely_on_are_exported(name: str) -> None:
    module = importlib.import_module(name)
    assert set(FACADES[name]) <= set(module.__all__)
    assert [item for item in FACADES[name] if not hasattr(module, item)] == []
