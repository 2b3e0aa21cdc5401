#if Tracing
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Tracing

/// A span that is over.
struct SpanDraft {
    var start: ContinuousClock.Instant
    var end: ContinuousClock.Instant
    var attributes: SpanAttributes
    /// The code of the failure.
    var error: String?
}

/// Decides which spans events make.
///
/// Keeps the facts of a connection that its events leave out.
struct SpanBook: Sendable {
    private struct Attempt: Sendable {
        var number: Int
        var began: ContinuousClock.Instant
    }

    /// The attempt that each connection makes.
    private var attempts: [UInt64: Attempt] = [:]

    mutating func note(_ stamped: Stamped<ConnectionEvent>) -> SpanDraft? {
        let connection = stamped.event.connection
        switch stamped.event.kind {
        case .connecting(let number):
            self.attempts[connection] = Attempt(number: number, began: stamped.time)
            return nil
        case .connected(_, _, let isResumed, let transport):
            var draft = self.end(stamped)
            draft?.attributes["linkspan.resumed"] = isResumed
            draft?.attributes["linkspan.transport"] = transport
            return draft
        case .disconnected(_, let code, _):
            // Without a code it was called off.
            return self.end(stamped, error: code ?? "cancelled")
        case .released:
            self.attempts[connection] = nil
            return nil
        default: return nil
        }
    }

    private mutating func end(_ stamped: Stamped<ConnectionEvent>, error: String? = nil) -> SpanDraft? {
        let attempt = self.attempts.removeValue(forKey: stamped.event.connection)
        guard let attempt, !stamped.replayed else { return nil }
        var attributes: SpanAttributes = [:]
        attributes["messaging.system"] = "linkspan"
        attributes["linkspan.endpoint"] = stamped.event.endpoint
        attributes["linkspan.attempt"] = attempt.number
        return SpanDraft(start: attempt.began, end: stamped.time, attributes: attributes, error: error)
    }
}
#endif
