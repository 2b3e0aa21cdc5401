internal import Testing

/// Everything that is proved against servers by other authors.
///
/// One test at a time: some stop their server for a moment, and what they prove is about time. The time limit is for a case
/// over all of its wires.
@Suite(.serialized, .sharedServers, .timeLimit(.minutes(4)))
enum Interop {}
