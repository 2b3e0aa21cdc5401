internal import Testing

/// All tests of the tool that start processes, which run one after the other.
@Suite(.serialized)
enum Tool {}
