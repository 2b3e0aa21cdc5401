internal import LinkspanRuntime

/// Answers whether the current thread runs a certain loop's jobs at this moment.
///
/// A mark on the thread rather than a stored thread number: it needs no lock, and after a loop's end it moves with the
/// jobs to whichever thread runs them.
package final class LoopIdentity: ExecutionPlace {
    private static let mark = ThreadMark()

    package init() {}

    package var isCurrent: Bool { Self.mark.isSet(to: self) }

    /// Runs `body` as this loop.
    package func asCurrent<Result>(_ body: () -> Result) -> Result { Self.mark.set(to: self, body) }
}
