@testable import Linkspan

/// What happened in a ``SimulatedWorld``, and whether it was right.
struct History: Sendable {
    struct Call: Sendable {
        let name: String
        let kind: Command.Kind
        let id: Command.ID
        var outcomes = 0
        var wasRefused = false
        var isSuccess = false
        var certainty: LinkspanError.Certainty?
    }

    private(set) var calls: [Call] = []
    private var indices: [String: Int] = [:]
    /// What the server applied, in order, with the number of the link that brought it.
    private(set) var applied: [(name: String, link: Int)] = []
    private(set) var states: [ConnectionState] = []
    /// What links accepted.
    var sent: [String] = []
    /// Connections and links that should be gone.
    var leftOver = 0
    /// Set when everything has had time to end.
    var isQuiet = false
    private var lateOutcomes: [String] = []
    /// Folds the whole course of events into one number (FNV-1a).
    private(set) var trace: UInt64 = 0xCBF2_9CE4_8422_2325

    // MARK: Recording

    mutating func nextName(_ kind: Command.Kind) -> String {
        switch kind {
        case .send: "s\(self.calls.count)"
        case .request: "r\(self.calls.count)"
        case .deliver(let lane): "\(lane)/\(self.calls.count)"
        }
    }

    mutating func called(_ name: String, _ command: Command) {
        self.indices[name] = self.calls.count
        self.calls.append(Call(name: name, kind: command.kind, id: command.id))
    }

    mutating func refused(_ name: String, _ error: LinkspanError, at time: Duration) {
        self.update(name) {
            $0.wasRefused = true
            $0.certainty = error.certainty
        }
        self.fold("refused \(name) \(error.code.rawValue) \(time)")
    }

    mutating func ended(_ name: String, _ outcome: Result<Payload, LinkspanError>, at time: Duration) {
        if self.isQuiet { self.lateOutcomes.append(name) }
        self.update(name) { call in
            call.outcomes += 1
            switch outcome {
            case .success: call.isSuccess = true
            case .failure(let error): call.certainty = error.certainty
            }
        }
        self.fold("ended \(name) \(outcome) \(time)")
    }

    mutating func applied(_ name: String, link: Int, at time: Duration) {
        self.applied.append((name, link))
        self.fold("applied \(name) \(link) \(time)")
    }

    mutating func record(_ change: StateChange, at time: Duration) {
        self.states.append(change.to)
        self.fold("state \(change.from) \(change.to) \(change.sequence) \(time)")
    }

    private mutating func update(_ name: String, _ body: (inout Call) -> Void) {
        if let index = self.indices[name] { body(&self.calls[index]) }
    }

    private mutating func fold(_ text: String) {
        for byte in text.utf8 { self.trace = (self.trace ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
    }
}

// MARK: - Checking

extension History {
    /// Everything that is wrong, in words; empty when nothing is.
    var violations: [String] {
        self.wrongOutcomes + self.lies + self.wireDuplicates + self.disorder + self.leftovers
    }

    /// Each call has exactly one end, and has it before the connection is given back.
    private var wrongOutcomes: [String] {
        let counts = self.calls.filter { $0.outcomes != ($0.wasRefused ? 0 : 1) }
        return counts.map { "\($0.name) has \($0.outcomes) outcomes, refused: \($0.wasRefused)" }
            + self.lateOutcomes.map { "\($0) was stuck until the release" }
            + self.calls.filter { !$0.isSuccess && $0.certainty == nil }.map { "\($0.name) failed without a certainty" }
    }

    /// What is called unsent was not seen, and what is called answered was.
    private var lies: [String] {
        let sent = Set(self.sent)
        let seen = Set(self.applied.map(\.name))
        let falselyUnsent = self.calls.filter {
            $0.certainty == .notSent && (sent.contains($0.name) || seen.contains($0.name))
        }
        let falselyAnswered = self.calls.filter { $0.isSuccess && $0.kind != .send && !seen.contains($0.name) }
        let lost = self.calls.filter { $0.isSuccess && $0.kind == .send && !sent.contains($0.name) }
        return falselyUnsent.map { "\($0.name) is called unsent, and was sent" }
            + falselyAnswered.map { "\($0.name) is called answered, and was never seen" }
            + lost.map { "\($0.name) is called sent, and was not" }
    }

    /// Sends and requests go to a link once; a repeated delivery is repeated at once, before others of its lane.
    private var wireDuplicates: [String] {
        var counts: [String: Int] = [:]
        for name in self.sent { counts[name, default: 0] += 1 }
        return self.calls.filter { call in
            if case .deliver = call.kind { return false }
            return counts[call.name, default: 0] > 1
        }.map { "\($0.name) was sent \(counts[$0.name, default: 0]) times" }
    }

    private var disorder: [String] {
        var latest: [String: Int] = [:]
        var violations: [String] = []
        for name in self.sent {
            let parts = name.split(separator: "/")
            guard parts.count == 2, let number = Int(parts[1]) else { continue }
            let lane = String(parts[0])
            if number < latest[lane, default: -1] { violations.append("\(name) was sent behind \(latest[lane] ?? 0)") }
            latest[lane] = number
        }
        // Sends and requests, in the order of the calls, over whatever links.
        var last = -1
        for name in self.sent where name.first == "s" || name.first == "r" {
            guard let number = Int(name.dropFirst()) else { continue }
            if number < last { violations.append("\(name) was sent behind \(last)") }
            last = number
        }
        return violations
    }

    private var leftovers: [String] {
        self.leftOver == 0 ? [] : ["\(self.leftOver) connections or links are left"]
    }
}
