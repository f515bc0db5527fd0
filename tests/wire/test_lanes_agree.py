"""Random messages cross between the two generated lanes without a change in meaning.

A message is drawn as a plain tree and built in each lane on its own; then the bytes and the JSON of
either lane must give the other lane's message. The same drawing serves two tests: a large one over
fixed seeds, and one that Hypothesis drives, so that a failure shrinks.
"""

# ruff: noqa: S311 - the numbers are examples, not secrets
from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, TypeAlias

import betterproto2
import pytest
from google.protobuf import json_format
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import given
from hypothesis import strategies as st

import compass_subscriber.v1 as subscriber
from compass.v1 import agent_gateway_pb2, compass_pb2

if TYPE_CHECKING:
    from google._upb._message import Descriptor as UpbDescriptor
    from google._upb._message import FieldDescriptor as UpbField
    from google.protobuf.descriptor import Descriptor
    from google.protobuf.message import Message

AnyDescriptor: TypeAlias = "Descriptor | UpbDescriptor"
AnyField: TypeAlias = "FieldDescriptor | UpbField"
Value: TypeAlias = "int | str | bytes | Tree | list[Value]"
Tree: TypeAlias = dict[str, Value]

MESSAGES = {
    "SessionFrame": compass_pb2.SessionFrame,
    "AgentSessionFrame": compass_pb2.AgentSessionFrame,
    "SubscribeAgentSessionRequest": compass_pb2.SubscribeAgentSessionRequest,
    "PublishFrameRequest": agent_gateway_pb2.PublishFrameRequest,
}
LARGE = ["SessionFrame", "AgentSessionFrame", "SubscribeAgentSessionRequest"]
HOW_MANY = 5_000
FEW = 500
DEEPEST = 4

TEXTS = (
    "",
    "a",
    "429 rate limited",
    "Grüße, 世界 🙂",
    "e\u0301\u200d\u202e",
    "line\nline\r\u2028\u0085",
    "\0",
    "\ufffd\U0010ffff",
    '"\\/',
    "x" * 200,
)
NUMBERS = {
    FieldDescriptor.TYPE_INT32: (0, 1, -1, 429, 2**31 - 1, -(2**31)),
    FieldDescriptor.TYPE_UINT32: (0, 1, 64, 127, 128, 2**32 - 1),
    FieldDescriptor.TYPE_INT64: (0, 1, -1, 2**53 + 1, 2**63 - 1, -(2**63)),
    FieldDescriptor.TYPE_UINT64: (0, 1, 2**53 + 1, 2**63, 2**64 - 1),
    FieldDescriptor.TYPE_BOOL: (0, 1),
}
# Known numbers of every enum, and numbers that no enum of ours has.
ENUM_NUMBERS = (0, 1, 2, 3, 4, 16, 99, -1, 2**31 - 1)


def draw_value(random: Random, field: AnyField, depth: int) -> Value:
    """Return one value of `field`: a number, text, bytes, or the tree of a message."""
    if field.message_type is not None:
        return draw(random, field.message_type, depth + 1)
    if field.type == FieldDescriptor.TYPE_STRING:
        return random.choice(TEXTS)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return random.choice((b"", b"\0\xff", b"\x08\x03"))
    if field.type == FieldDescriptor.TYPE_ENUM:
        return random.choice(ENUM_NUMBERS)
    return random.choice(NUMBERS[field.type])


def draw(random: Random, descriptor: AnyDescriptor, depth: int = 0) -> Tree:
    """Return a random message as a tree of what is set in it; an empty tree is an empty message."""
    chosen: list[AnyField] = []
    arms: dict[str, list[AnyField]] = {}
    if random.random() < 0.1:
        return {}
    for field in descriptor.fields:
        kind = field.message_type
        if kind == descriptor and (depth or random.random() < 0.8):
            continue  # a message in its own kind: seldom, and once
        if kind is not None and depth >= DEEPEST:
            continue
        group = field.containing_oneof
        if group is not None and len(group.fields) > 1:
            arms.setdefault(group.name, []).append(field)
        elif random.random() < 0.5:
            chosen.append(field)
    chosen += [random.choice(fields) for fields in arms.values() if random.random() < 0.9]
    tree: Tree = {}
    for field in chosen:
        if field.is_repeated:
            tree[field.name] = [
                draw_value(random, field, depth) for _ in range(random.randint(0, 2))
            ]
        else:
            tree[field.name] = draw_value(random, field, depth)
    return tree


def fill_runtime(message: Message, tree: Tree) -> None:
    """Set in `message` of the runtime lane what `tree` holds, field by field."""
    for name, value in tree.items():
        if isinstance(value, dict):
            inner = getattr(message, name)
            inner.SetInParent()
            fill_runtime(inner, value)
        elif isinstance(value, list):
            for one in value:
                if isinstance(one, dict):
                    fill_runtime(getattr(message, name).add(), one)
                else:
                    getattr(message, name).append(one)
        else:
            setattr(message, name, value)


def make_subscriber(descriptor: AnyDescriptor, tree: Tree) -> betterproto2.Message:
    """Return the message of the subscriber lane that holds what `tree` holds."""

    def convert(field: AnyField, value: Value) -> object:
        if isinstance(value, list):
            return [convert(field, one) for one in value]
        if isinstance(value, dict):
            assert field.message_type is not None
            return make_subscriber(field.message_type, value)
        if field.enum_type is not None:
            return getattr(subscriber, field.enum_type.name)(value)
        return bool(value) if field.type == FieldDescriptor.TYPE_BOOL else value

    kind: type[betterproto2.Message] = getattr(subscriber, descriptor.name)
    fields = descriptor.fields_by_name
    return kind(**{name: convert(fields[name], value) for name, value in tree.items()})


def require_agreement(kind: type[Message], tree: Tree) -> None:
    """Build `tree` in both lanes and carry it over in every direction."""
    ours = kind()
    fill_runtime(ours, tree)
    theirs = make_subscriber(kind.DESCRIPTOR, tree)
    theirs_kind = type(theirs)

    ours_bytes, theirs_bytes = ours.SerializeToString(), bytes(theirs)
    read_by_theirs = theirs_kind.parse(ours_bytes)
    read_by_ours = kind.FromString(theirs_bytes)
    assert read_by_theirs == theirs, "runtime bytes, read by the subscriber lane"
    assert read_by_ours == ours, "subscriber bytes, read by the runtime lane"
    # What is set to its default and what is absent differ in their bytes, so this tells them apart.
    assert bytes(read_by_theirs) == ours_bytes, "from the runtime lane, there and back"
    assert read_by_ours.SerializeToString() == theirs_bytes, "from the subscriber lane, and back"

    ours_json, theirs_json = json_format.MessageToJson(ours, indent=None), theirs.to_json()
    assert json.loads(ours_json) == json.loads(theirs_json), "the same JSON"
    assert theirs_kind.from_json(ours_json) == theirs, "runtime JSON, read by the subscriber lane"
    assert json_format.Parse(theirs_json, kind()) == ours, "subscriber JSON, read by the runtime"


@pytest.mark.parametrize("count", [FEW, pytest.param(HOW_MANY, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", LARGE)
def test_thousands_of_random_messages_mean_the_same_in_both_lanes(name: str, count: int) -> None:
    kind = MESSAGES[name]
    for seed in range(count):
        tree = draw(Random(f"{name} {seed}"), kind.DESCRIPTOR)
        try:
            require_agreement(kind, tree)
        except Exception as error:
            error.add_note(f"{name}, seed {seed}: {tree}")
            raise


@pytest.mark.parametrize("name", sorted(MESSAGES))
@given(random=st.randoms(use_true_random=False))
def test_a_message_that_hypothesis_draws_means_the_same_in_both_lanes(
    name: str, random: Random
) -> None:
    kind = MESSAGES[name]
    require_agreement(kind, draw(random, kind.DESCRIPTOR))


def test_the_random_messages_reach_what_matters() -> None:
    seen: set[str] = set()
    for seed in range(500):
        tree = draw(Random(f"SessionFrame {seed}"), compass_pb2.SessionFrame.DESCRIPTOR)
        event = tree.get("typed_event")
        if not isinstance(event, dict):
            continue
        error = event.get("session_error")
        if isinstance(error, dict):
            seen.add(f"status {error.get('status')}")
        seen.update(event)
        seen.update(f"empty {name}" for name, value in event.items() if value == {})
    arms = {field.name for field in compass_pb2.SessionEvent.DESCRIPTOR.fields}
    assert seen >= arms | {"status None", "status 0", "status 429", "empty session_error"}
