internal import Testing

/// All tests of the chat, which run one after the other: each has several processes of its own.
@Suite(.serialized)
enum Chat {}
