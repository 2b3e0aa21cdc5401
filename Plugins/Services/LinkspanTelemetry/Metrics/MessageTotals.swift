#if Metrics
internal import LinkspanMessaging

/// The numbers that an event has about messages, without the names of instruments.
struct MessageTotals: Sendable {
    /// A kind of messages with instruments of its own.
    enum Kind: UInt8, Sendable {
        case sent, received, delivered, timedOut, expired, dropped
    }

    let kind: Kind
    let count: Int
    /// Set for sent and received messages.
    var bytes: Int?
    /// The mean, set for acknowledged messages.
    var roundTrip: Duration?

    init(_ event: MessageEvent) {
        self.count = event.count
        switch event.kind {
        case .sent: (self.kind, self.bytes) = (.sent, event.bytes)
        case .received: (self.kind, self.bytes) = (.received, event.bytes)
        case .acknowledged(let roundTrip): (self.kind, self.roundTrip) = (.delivered, roundTrip)
        case .timedOut: self.kind = .timedOut
        case .expired: self.kind = .expired
        case .dropped: self.kind = .dropped
        @unknown default: self.kind = .dropped
        }
    }

    /// The name of the counter.
    var name: String {
        switch self.kind {
        case .sent: "sent_total"
        case .received: "received_total"
        case .delivered: "delivered_total"
        case .timedOut: "timed_out_total"
        case .expired: "expired_total"
        case .dropped: "dropped_total"
        }
    }

    /// The name of the counter of bytes.
    var bytesName: String { self.kind == .sent ? "sent_bytes_total" : "received_bytes_total" }
}

/// The instruments for the messages of connections, found without names and labels: there is an event for every message.
struct MessageInstruments: Sendable {
    private struct Key: Sendable, Hashable {
        var connection: UInt64
        var kind: MessageTotals.Kind
    }

    private var known: [Key: [Instruments.Instrument]] = [:]

    func instruments(of connection: UInt64, _ kind: MessageTotals.Kind) -> [Instruments.Instrument]? {
        self.known[Key(connection: connection, kind: kind)]
    }

    mutating func keep(_ instruments: [Instruments.Instrument], of connection: UInt64, _ kind: MessageTotals.Kind) {
        // The number of unreported connections is unbounded.
        if self.known.count >= 1_024 { self.known = [:] }
        self.known[Key(connection: connection, kind: kind)] = instruments
    }

    /// Forgets a connection, which may belong to another endpoint from now on.
    mutating func forget(_ connection: UInt64) {
        guard !self.known.isEmpty else { return }
        for kind in [.sent, .received, .delivered, .timedOut, .expired, .dropped] as [MessageTotals.Kind] {
            self.known[Key(connection: connection, kind: kind)] = nil
        }
    }
}

extension [Instruments.Instrument] {
    /// Records messages by the instruments that ``MetricsBook/note(_:)-(MessageEvent)`` names for them.
    func record(_ totals: MessageTotals) {
        self.first?.record(.count(totals.count))
        guard self.count > 1 else { return }
        if let bytes = totals.bytes { self[1].record(.count(bytes)) }
        if let time = totals.roundTrip { self[1].record(.times(time, totals.count)) }
    }
}
#endif
