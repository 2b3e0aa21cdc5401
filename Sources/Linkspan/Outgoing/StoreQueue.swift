/// The calls for the store at the end of a turn, and the writes that it has not committed.
struct StoreQueue {
    private var calls: [StoreCall] = []
    /// Deliveries with the outcomes that the store gets at the end of the turn; they are completed after that.
    private var recorded: [(Command, Result<Payload, LinkspanError>)] = []
    /// Rows and outcomes that the store has not committed yet.
    private(set) var pendingWrites = 0

    /// Whether the store is to be asked something at the end of the turn.
    var hasCalls: Bool { !self.calls.isEmpty }

    /// Whether deliveries wait until the store has been told their outcomes.
    var hasRecorded: Bool { !self.recorded.isEmpty }

    mutating func append(_ call: StoreCall) {
        self.calls.append(call)
        if call.isWrite { self.pendingWrites += 1 }
    }

    mutating func record(_ delivery: Command, _ outcome: Result<Payload, LinkspanError>) {
        self.recorded.append((delivery, outcome))
    }

    /// The store has answered a write.
    mutating func wrote() { self.pendingWrites -= 1 }

    mutating func takeCalls() -> [StoreCall] {
        defer { self.calls = [] }
        return self.calls
    }

    mutating func takeRecorded() -> [(Command, Result<Payload, LinkspanError>)] {
        defer { self.recorded = [] }
        return self.recorded
    }
}
