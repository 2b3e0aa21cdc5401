@testable import Linkspan

/// What happened in a ``SimulatedWorld``.
struct History: Sendable {
    struct Call: Sendable {
        let name: String
        let kind: Command.Kind
        let id: Command.ID
        let timeout: Duration?
        let time: Duration
        var refusal: LinkspanError?
        var ends: [End] = []

        var isOpen: Bool { self.ends.isEmpty && self.refusal == nil }
        /// What its caller may believe, when it was not a success.
        var certainty: LinkspanError.Certainty? { self.refusal?.certainty ?? self.ends.first?.certainty }
        var isSuccess: Bool { self.ends.first?.isSuccess ?? false }
        var orderingKey: String? { if case .deliver(let orderingKey) = self.kind { orderingKey } else { nil } }
    }

    /// The outcome of a call.
    struct End: Sendable {
        let time: Duration
        let isSuccess: Bool
        let reply: String?
        let certainty: LinkspanError.Certainty?
        /// Whether it came only when the connection was given back.
        let isLate: Bool
    }

    /// A message on a link, or at the server.
    struct Passage: Sendable {
        let name: String
        let link: Int
        let requestID: UInt64?
        let time: Duration
        /// Whether the greeting of its link was over.
        var isGreeted = true
    }

    /// The rules that deliveries follow.
    var deliveries = DeliveryOptions()
    /// Whether links have to be greeted.
    var mustGreet = false
    /// Links that could fill up: nothing is known about when they take what.
    var slowLinks: Set<Int> = []
    /// Whether a flush may pause.
    var isPaced = false
    /// Connections and links that should be gone, and rows of the store that should have ended.
    var leftOver = 0
    private(set) var calls: [Call] = []
    private(set) var indices: [String: Int] = [:]
    /// What links took, in order.
    private(set) var taken: [Passage] = []
    /// What the server applied, in order.
    private(set) var applied: [Passage] = []
    private(set) var states: [ConnectionState] = []
    /// When links that were up were lost or given up.
    private(set) var losses: [Duration] = []
    /// The links whose greeting was a success.
    private(set) var greetedLinks: Set<Int> = []
    private var isQuiet = false
    /// The state when everything had had time to end.
    private(set) var quietState: ConnectionState?
    /// Folds the whole course of events into one number (FNV-1a).
    private(set) var trace: UInt64 = 0xCBF2_9CE4_8422_2325
}

// MARK: - Recording

extension History {
    func nextName(_ kind: Command.Kind) -> String {
        switch kind {
        case .send: "s\(self.calls.count)"
        case .request: "r\(self.calls.count)"
        case .deliver(let orderingKey): "\(orderingKey)/\(self.calls.count)"
        case .outcome: "o\(self.calls.count)"
        }
    }

    func call(_ name: String) -> Call? { self.indices[name].map { self.calls[$0] } }

    mutating func called(_ name: String, _ command: Command, at time: Duration) {
        self.indices[name] = self.calls.count
        self.calls.append(
            Call(name: name, kind: command.kind, id: command.id, timeout: command.timeout, time: time))
    }

    mutating func refused(_ name: String, _ error: LinkspanError, at time: Duration) {
        self.update(name) { $0.refusal = error }
        self.fold("refused \(name) \(error.code.rawValue)", time)
    }

    mutating func ended(_ name: String, _ outcome: Result<Payload, LinkspanError>, at time: Duration) {
        let end: End
        switch outcome {
        case .success(let reply):
            end = End(time: time, isSuccess: true, reply: reply.text, certainty: nil, isLate: self.isQuiet)
            self.fold("success \(name) \(reply.text)", time)
        case .failure(let error):
            end = End(time: time, isSuccess: false, reply: nil, certainty: error.certainty, isLate: self.isQuiet)
            self.fold("failure \(name) \(error.code.rawValue) \(error.certainty.map { "\($0)" } ?? "")", time)
        }
        self.update(name) { $0.ends.append(end) }
    }

    mutating func taken(_ name: String, link: Int, requestID: UInt64? = nil, at time: Duration) {
        let isGreeted = !self.mustGreet || self.greetedLinks.contains(link)
        self.taken.append(
            Passage(name: name, link: link, requestID: requestID, time: time, isGreeted: isGreeted))
        self.fold("taken \(name) \(link) \(requestID ?? 0)", time)
    }

    mutating func applied(_ name: String, link: Int, at time: Duration) {
        self.applied.append(Passage(name: name, link: link, requestID: nil, time: time))
        self.fold("applied \(name) \(link)", time)
    }

    mutating func greeted(link: Int, at time: Duration) {
        self.greetedLinks.insert(link)
        self.fold("greeted \(link)", time)
    }

    mutating func record(_ change: StateChange, at time: Duration) {
        self.states.append(change.to)
        if change.from == .connected { self.losses.append(time) }
        self.fold("state \(change.from) \(change.to) \(change.sequence)", time)
    }

    /// Everything has had time to end.
    mutating func becameQuiet(_ state: ConnectionState) {
        self.isQuiet = true
        self.quietState = state
    }

    private mutating func update(_ name: String, _ body: (inout Call) -> Void) {
        if let index = self.indices[name] { body(&self.calls[index]) }
    }

    private mutating func fold(_ text: String, _ time: Duration) {
        for byte in text.utf8 { self.fold(UInt64(byte)) }
        self.fold(UInt64(bitPattern: time.components.seconds))
        self.fold(UInt64(bitPattern: time.components.attoseconds))
    }

    private mutating func fold(_ value: UInt64) { self.trace = (self.trace ^ value) &* 0x0000_0100_0000_01B3 }
}
