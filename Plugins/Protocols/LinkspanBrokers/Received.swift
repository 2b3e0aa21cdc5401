internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocket

/// The bytes of a stream that comes in WebSocket messages whose bounds mean nothing.
struct ByteFeed: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0

    /// The received bytes that were not taken.
    var rest: ArraySlice<UInt8> { self.bytes[self.start...] }

    /// Adds received bytes.
    mutating func append(_ more: ArraySlice<UInt8>) {
        if self.start == self.bytes.count {
            (self.bytes, self.start) = (Array(more), 0)
        } else {
            self.bytes.removeFirst(self.start)
            self.start = 0
            self.bytes += more
        }
    }

    /// Takes so many bytes, of those that have come.
    mutating func take(_ count: Int) -> ArraySlice<UInt8> {
        defer { self.start += count }
        return self.rest.prefix(count)
    }
}

/// The results of a part of the stream: events and replies, failures, and bytes to send.
struct Outcome {
    private var envelopes: [Envelope] = []
    private var failures: [DecodedEnvelope.Failure] = []
    /// The bytes to be sent at once.
    var answers: [UInt8] = []

    /// The result for the link.
    var decoded: DecodedEnvelope {
        DecodedEnvelope(
            self.envelopes, answers: self.answers.isEmpty ? [] : [.binary(self.answers[...])], failures: self.failures)
    }

    /// Adds a message for a listener; one of several topics or subjects hears which it is, as its last argument.
    mutating func add(_ event: String, _ payload: Payload, from name: String, id: UInt64?) {
        self.envelopes.append(.event(name: event, payload: event == name ? payload : payload.naming(name), id: id))
    }

    /// Ends a request or delivery by its reply or its failure; without an id the failure is only logged.
    mutating func end(_ id: UInt64?, _ payload: Payload = .empty, error: LinkspanError? = nil) {
        if let error {
            self.failures.append(.init(id: id, error))
        } else if let id {
            self.envelopes.append(.reply(id: id, payload: payload))
        }
    }

    /// Fails requests and deliveries that the broker has refused; an error of none is only logged.
    mutating func fail(_ ids: [UInt64], _ error: LinkspanError) {
        for id in ids { self.end(id, error: error) }
        if ids.isEmpty { self.end(nil, error: error) }
    }

    /// Refuses more events in one WebSocket message than memory should be spent on.
    func check() throws(LinkspanError) {
        guard self.envelopes.count + self.failures.count <= 65_536 else {
            throw LinkspanError(.protocolViolation, "one message brings more than 65,536 events")
        }
    }
}

/// The latest requests and deliveries, for a refusal that names only their topic or subject.
struct Asked: Sendable {
    private var latest: [(id: UInt64, name: String)] = []

    mutating func note(_ id: UInt64, _ name: String) {
        // The oldest have an answer, or no time any more.
        if self.latest.count == 1_024 { self.latest.removeFirst(512) }
        self.latest.append((id, name))
    }

    /// Takes those that are refused, and returns their ids.
    mutating func take(_ isRefused: (String) -> Bool) -> [UInt64] {
        defer { self.latest.removeAll { isRefused($0.name) } }
        return self.latest.filter { isRefused($0.name) }.map(\.id)
    }
}
