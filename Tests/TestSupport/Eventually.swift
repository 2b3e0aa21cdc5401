package import Testing

/// Lets other tasks run until a condition holds; `turn` runs after each look, for example to advance a virtual clock.
///
/// The time limit of the test, which cancels it, ends a wait in vain, and so do two minutes.
///
/// - Throws: at the place of the call, with what did not happen.
package func eventually(
    _ what: Comment? = nil, turn: () -> Void = {}, sourceLocation: SourceLocation = #_sourceLocation,
    until condition: () async throws -> Bool
) async throws {
    let isInTime = try await isEventually(turn: turn, condition)
    try #require(isInTime, what, sourceLocation: sourceLocation)
}

/// Whether a condition comes to hold before the task is cancelled, and within two minutes.
package func isEventually(turn: () -> Void = {}, _ condition: () async throws -> Bool) async rethrows -> Bool {
    let end = ContinuousClock.now + .seconds(120)
    while try await !condition() {
        guard !Task.isCancelled, ContinuousClock.now < end else { return false }
        await Task.yield()
        turn()
    }
    return true
}
