"""The numbers, types and labels of the contract, written out by hand: they may never change.

A field that is added gets a row here. A row that must be edited is a broken contract.
"""

from __future__ import annotations

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto

from compass.v1 import agent_gateway_pb2, compass_pb2

SUBSCRIBER_MESSAGES = {
    "SessionEvent": """
        1 string event_id
        2 int64 at_unix_ms
        3 oneof event SessionAssistantText assistant_text
        4 oneof event SessionThinking thinking
        5 oneof event SessionToolCall tool_call
        6 oneof event SessionToolCallUpdate tool_call_update
        7 oneof event SessionPlan plan
        8 oneof event SessionNotice notice
        9 oneof event SessionInjection session_injection
        10 oneof event SessionError session_error
        16 oneof event SessionPrompt prompt
    """,
    "SessionAssistantText": "1 string text\n 2 string message_id",
    "SessionThinking": "1 string text\n 2 string message_id",
    "SessionToolCall": """
        1 string tool_call_id
        2 string title
        3 AgentToolCallStatus status
    """,
    "SessionToolCallUpdate": """
        1 string tool_call_id
        2 AgentToolCallStatus status
        3 string output
        4 repeated SessionFileDiff diffs
        16 optional uint64 full_output_chars
    """,
    "SessionFileDiff": "1 string path\n 2 optional string old_text\n 3 string new_text",
    "SessionPlan": "1 repeated AgentPlanEntry entries",
    "AgentPlanEntry": "1 string content\n 2 AgentPlanEntryStatus status",
    "SessionNotice": "1 string text\n 2 optional string link",
    "SessionInjection": """
        1 SessionInjectionKind op_kind
        2 string message_id
        3 string from_handle
        4 string traceparent
    """,
    "SessionError": """
        1 SessionErrorKind kind
        2 string message
        3 optional int32 status
        16 optional int64 retry_after_ms
        17 string code
        18 string request_id
        19 string stopped_by
    """,
    "SessionPrompt": "1 string text\n 2 string message_id",
    "SessionFrame": "1 AgentSessionState state\n 2 SessionEvent typed_event",
    "SessionGap": """
        1 uint64 first_seq
        2 uint64 last_seq
        3 uint64 count
        4 SessionGapReason reason
    """,
    "SessionEnd": """
        1 AgentSessionState state
        2 string reason
        3 uint64 last_seq
        4 uint64 prev_priority
    """,
    "SessionReset": "1 SessionResetReason reason",
    "AgentSessionFrame": """
        1 string session_id
        2 SessionEvent event
        3 AgentSessionState state
        16 uint64 seq
        17 string epoch
        18 SessionGap gap
        19 SessionEnd end
        20 SessionReset reset
        21 bool caught_up
        22 repeated AgentSessionFrame more
        23 bool late
    """,
    "SubscribeAgentSessionRequest": """
        1 string session_id
        16 string after_epoch
        17 uint64 after_seq
        18 optional bool follow
        19 repeated string kinds
        20 uint32 max_batch
    """,
    "SessionSummary": """
        1 string session_id
        2 string epoch
        3 uint64 seq
        4 AgentSessionState state
        5 SessionError last_error
        6 string title
        7 string agent
        8 string version
        9 int64 opened_unix_ms
        10 int64 updated_unix_ms
        11 uint64 frames
        12 bool ended
    """,
    "ListSessionsRequest": """
        1 uint32 limit
        2 string page_token
        3 repeated AgentSessionState states
        4 string query
    """,
    "ListSessionsResponse": "1 repeated SessionSummary sessions\n 2 string next_page_token",
    "GetSessionRequest": "1 string session_id",
    "GetSessionResponse": "1 SessionSummary session",
}

GATEWAY_MESSAGES = {
    "SequencedFrame": "1 uint64 seq\n 2 bytes frame",
    "SessionOpen": "1 string title\n 2 string agent\n 3 string version\n 16 bool recovered",
    "PublishFrameRequest": """
        1 string session_id
        2 string epoch
        3 repeated SequencedFrame priority
        4 repeated SequencedFrame trace
        5 uint64 through
        6 uint64 prev_priority
        7 SessionOpen open
        8 SessionEnd end
        9 uint64 batch
        10 uint64 lost_priority
    """,
    "PublishFrameResponse": """
        1 string session_id
        2 string epoch
        3 uint64 batch
        4 uint64 last_priority
        5 uint64 through
        6 uint64 late_trace
        7 uint64 missing_from
        8 bool sealed
        9 string code
    """,
}

ENUMS = {
    "AgentSessionState": (
        "AGENT_SESSION_STATE_",
        "UNSPECIFIED 0, STARTING 1, READY 2, WORKING 3, STOPPED 4, ERRORED 5, DISCONNECTED 6",
    ),
    "AgentToolCallStatus": (
        "AGENT_TOOL_CALL_STATUS_",
        "UNSPECIFIED 0, PENDING 1, IN_PROGRESS 2, COMPLETED 3, FAILED 4, INTERRUPTED 16",
    ),
    "AgentPlanEntryStatus": (
        "AGENT_PLAN_ENTRY_STATUS_",
        "UNSPECIFIED 0, PENDING 1, IN_PROGRESS 2, COMPLETED 3",
    ),
    "SessionInjectionKind": ("SESSION_INJECTION_KIND_", "UNSPECIFIED 0, STEER 1, DELIVER 2"),
    "SessionErrorKind": ("SESSION_ERROR_KIND_", "UNSPECIFIED 0, ERROR 1, ABORTED 2"),
    "SessionGapReason": (
        "SESSION_GAP_REASON_",
        "UNSPECIFIED 0, DROPPED 1, RETENTION 2, WRITER_GONE 3, LOG_LOSS 4",
    ),
    "SessionResetReason": (
        "SESSION_RESET_REASON_",
        "UNSPECIFIED 0, UNKNOWN_EPOCH 1, NEW_EPOCH 2",
    ),
}

SERVICES = {
    "CompassService": (
        "SubscribeAgentSession SubscribeAgentSessionRequest -> stream AgentSessionFrame, "
        "ListSessions ListSessionsRequest -> ListSessionsResponse, "
        "GetSession GetSessionRequest -> GetSessionResponse"
    ),
    "AgentGatewayService": (
        "PublishFrame stream PublishFrameRequest -> stream PublishFrameResponse"
    ),
}


def read_file(serialized: bytes) -> FileDescriptorProto:
    """Return the schema as protoc saw it."""
    return FileDescriptorProto.FromString(serialized)


SUBSCRIBER = read_file(compass_pb2.DESCRIPTOR.serialized_pb)
GATEWAY = read_file(agent_gateway_pb2.DESCRIPTOR.serialized_pb)


def short(type_name: str) -> str:
    """Return a type's name without the package."""
    return type_name.removeprefix(".compass.v1.")


def row(field: FieldDescriptorProto, oneofs: list[str]) -> str:
    """Return a field as the tables write it."""
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    words = [str(field.number)]
    if field.label == FieldDescriptorProto.LABEL_REPEATED:
        words.append("repeated")
    elif field.proto3_optional:
        words.append("optional")
    elif field.HasField("oneof_index"):
        words.append(f"oneof {oneofs[field.oneof_index]}")
    return " ".join([*words, short(field.type_name) or kind, field.name])


def rows_of(schema: FileDescriptorProto) -> dict[str, list[str]]:
    """Return the rows of every message of one file."""
    return {
        message.name: [
            row(field, [oneof.name for oneof in message.oneof_decl]) for field in message.field
        ]
        for message in schema.message_type
    }


def rows_in(table: dict[str, str]) -> dict[str, list[str]]:
    """Return the rows of a table above."""
    return {
        name: [line.strip() for line in text.strip().splitlines()] for name, text in table.items()
    }


def test_no_field_of_the_subscribers_schema_changed_and_none_is_without_a_row() -> None:
    assert rows_of(SUBSCRIBER) == rows_in(SUBSCRIBER_MESSAGES)


def test_no_field_of_the_gateway_changed_and_none_is_without_a_row() -> None:
    assert rows_of(GATEWAY) == rows_in(GATEWAY_MESSAGES)


def test_no_enum_value_changed_and_none_is_without_a_row() -> None:
    found = {
        enum.name: {value.name: value.number for value in enum.value}
        for schema in (SUBSCRIBER, GATEWAY)
        for enum in schema.enum_type
    }
    wanted = {
        name: {prefix + value.split()[0]: int(value.split()[1]) for value in values.split(", ")}
        for name, (prefix, values) in ENUMS.items()
    }
    assert found == wanted


def test_the_services_are_these_and_no_others() -> None:
    def stream(yes: bool) -> str:
        return "stream " if yes else ""

    found = {
        service.name: ", ".join(
            f"{method.name} {stream(method.client_streaming)}{short(method.input_type)}"
            f" -> {stream(method.server_streaming)}{short(method.output_type)}"
            for method in service.method
        )
        for schema in (SUBSCRIBER, GATEWAY)
        for service in schema.service
    }
    assert found == SERVICES


def test_the_package_is_compass_v1_and_no_message_is_nested() -> None:
    for schema in (SUBSCRIBER, GATEWAY):
        assert (schema.package, schema.syntax) == ("compass.v1", "proto3")
        for message in schema.message_type:
            assert not message.nested_type
            assert not message.enum_type
            assert not message.extension_range
