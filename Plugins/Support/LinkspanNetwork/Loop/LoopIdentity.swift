internal import LinkspanRuntime

/// Answers whether the current thread runs a certain loop's jobs at this moment.
///
/// A mark on the thread rather than a stored thread number: it needs no lock, and after a loop's end it moves with the
/// jobs to whichever thread runs them.
package final class LoopIdentity: Sendable {
    private static let mark = ThreadMark()

    /// The back end's own data about the loop that the current thread runs.
    package let attachment: (any Sendable)?

    package init(attachment: (any Sendable)? = nil) { self.attachment = attachment }

    /// The loop whose jobs the current thread runs.
    package static var current: LoopIdentity? { self.mark.object(as: LoopIdentity.self) }

    package var isCurrent: Bool { Self.mark.isSet(to: self) }

    /// Runs `body` as this loop.
    package func asCurrent<Result>(_ body: () -> Result) -> Result { Self.mark.set(to: self, body) }
}
