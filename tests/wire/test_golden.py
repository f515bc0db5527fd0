"""The golden files decode to the same values for ever, in both lanes, and cover the contract."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import betterproto2
import pytest
from google.protobuf import json_format
from google.protobuf.message import Message

import compass_subscriber.v1 as subscriber
from compass.v1 import agent_gateway_pb2, compass_pb2

pytestmark = pytest.mark.requirement("G-WIRE-1")

HERE = Path(__file__).parent
GOLDEN = {path.stem: path for path in sorted((HERE / "golden").glob("*.json"))}
SCHEMAS = (compass_pb2, agent_gateway_pb2)


class Golden:
    """One golden file: the message's name, its bytes, its JSON."""

    def __init__(self, name: str) -> None:
        stored: dict[str, Any] = json.loads(GOLDEN[name].read_text("utf-8"))
        assert stored.keys() == {"message", "hex", "json"}
        self.message: str = stored["message"]
        self.data = bytes.fromhex(stored["hex"])
        self.json: dict[str, Any] = stored["json"]

    def runtime(self) -> type[Message]:
        """The message's class in the runtime lane."""
        kinds = [vars(schema)[self.message] for schema in SCHEMAS if self.message in vars(schema)]
        return kinds[0]

    def subscriber(self) -> type[betterproto2.Message]:
        """The message's class in the subscriber lane."""
        return vars(subscriber)[self.message]


@pytest.fixture(params=sorted(GOLDEN))
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(request.param)


def test_the_runtime_lane_reads_the_bytes_and_writes_them_again(golden: Golden) -> None:
    message = golden.runtime().FromString(golden.data)
    assert json_format.MessageToDict(message) == golden.json
    assert message.SerializeToString(deterministic=True) == golden.data


def test_the_runtime_lane_reads_the_json(golden: Golden) -> None:
    message = json_format.ParseDict(golden.json, golden.runtime()())
    assert message == golden.runtime().FromString(golden.data)


def test_the_subscriber_lane_reads_the_same_values(golden: Golden) -> None:
    message = golden.subscriber().parse(golden.data)
    assert message.to_dict() == golden.json
    assert golden.subscriber().from_dict(golden.json) == message
    assert golden.runtime().FromString(bytes(message)) == golden.runtime().FromString(golden.data)


def walk(message: Message) -> Iterator[Message]:
    """Yield the message and all that are set in it."""
    yield message
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for inner in value if field.is_repeated else [value]:
            yield from walk(inner)


def all_golden_messages() -> Iterator[Message]:
    """Yield every message of every golden file, the inner ones too."""
    for name in GOLDEN:
        stored = Golden(name)
        yield from walk(stored.runtime().FromString(stored.data))


def test_every_field_of_every_message_is_set_in_some_golden_file() -> None:
    found = {
        f"{message.DESCRIPTOR.name}.{field.name}"
        for message in all_golden_messages()
        for field, _ in message.ListFields()
    }
    wanted = {
        f"{name}.{field.name}"
        for schema in SCHEMAS
        for name, descriptor in schema.DESCRIPTOR.message_types_by_name.items()
        for field in descriptor.fields
    }
    assert found == wanted


def test_every_optional_field_is_absent_in_one_golden_file_and_zero_in_another() -> None:
    zero: set[str] = set()
    absent: set[str] = set()
    for message in all_golden_messages():
        for field in message.DESCRIPTOR.fields:
            if not field.has_presence or field.message_type is not None:
                continue
            name = f"{message.DESCRIPTOR.name}.{field.name}"
            if not message.HasField(field.name):
                absent.add(name)
            elif getattr(message, field.name) == field.default_value:
                zero.add(name)
    optional = {
        "SessionError.status",
        "SessionError.retry_after_ms",
        "SessionFileDiff.old_text",
        "SessionNotice.link",
        "SubscribeAgentSessionRequest.follow",
    }
    assert absent == optional | {"SessionToolCallUpdate.full_output_chars"}
    assert zero >= optional


def test_every_enum_value_occurs_in_some_golden_file() -> None:
    found: set[tuple[str, int]] = set()
    for message in all_golden_messages():
        for field in message.DESCRIPTOR.fields:
            if field.enum_type is not None:
                value = getattr(message, field.name)
                for number in value if field.is_repeated else [value]:
                    found.add((field.enum_type.name, number))
    wanted = {
        (name, value.number)
        for schema in SCHEMAS
        for name, descriptor in schema.DESCRIPTOR.enum_types_by_name.items()
        for value in descriptor.values
    }
    assert found == wanted


def load_writer() -> Callable[[Path], list[str]]:
    """Return `write_missing` of the script that writes golden files."""
    return runpy.run_path(str(HERE / "write_golden.py"))["write_missing"]


def test_the_writer_has_a_sample_for_every_golden_file(tmp_path: Path) -> None:
    assert sorted(load_writer()(tmp_path)) == sorted(GOLDEN)


def test_the_writer_never_overwrites_a_golden_file(tmp_path: Path) -> None:
    (tmp_path / "plan.json").write_text("kept", "utf-8")
    written = load_writer()(tmp_path)
    assert "plan" not in written
    assert "prompt" in written
    assert (tmp_path / "plan.json").read_text("utf-8") == "kept"
    assert load_writer()(tmp_path) == []
