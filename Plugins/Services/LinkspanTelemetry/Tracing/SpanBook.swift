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

    private struct Known: Sendable {
        var endpoint: String
        var attempt: Attempt?
    }

    private var connections: [UInt64: Known] = [:]

    mutating func note(_ stamped: Stamped<ConnectionEvent>) -> SpanDraft? {
        let event = stamped.event
        if case .released = event.kind {
            self.connections[event.connection] = nil
            return nil
        }
        let attempt = self.connections[event.connection]?.attempt
        self.connections[event.connection] = Known(endpoint: event.endpoint, attempt: attempt)
        switch event.kind {
        case .connecting(let number):
            self.connections[event.connection]?.attempt = Attempt(number: number, began: stamped.time)
            return nil
        case .connected(_, _, let isResumed, let transport):
            return self.end(event, attempt, stamped) {
                $0["linkspan.resumed"] = isResumed
                $0["linkspan.transport"] = transport
            }
        case .disconnected(_, let code, _):
            // Without a code it was called off.
            return self.end(event, attempt, stamped, error: code ?? "cancelled") { _ in }
        default: return nil
        }
    }

    private mutating func end(
        _ event: ConnectionEvent, _ attempt: Attempt?, _ stamped: Stamped<ConnectionEvent>, error: String? = nil,
        _ add: (inout SpanAttributes) -> Void
    ) -> SpanDraft? {
        self.connections[event.connection]?.attempt = nil
        guard let attempt, !stamped.replayed else { return nil }
        var attributes: SpanAttributes = [:]
        attributes["messaging.system"] = "linkspan"
        attributes["linkspan.endpoint"] = event.endpoint
        attributes["linkspan.attempt"] = attempt.number
        add(&attributes)
        return SpanDraft(
            start: attempt.began, end: stamped.time, attributes: attributes, error: error)
    }
}

extension SpanAttributes {
    /// The attributes of all spans about messages.
    static func message(_ event: String, bytes: Int) -> Self {
        var attributes: Self = [:]
        attributes["messaging.system"] = "linkspan"
        attributes["messaging.destination.name"] = event
        attributes["messaging.message.body.size"] = bytes
        return attributes
    }
}
#endif
