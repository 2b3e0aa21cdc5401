/// A stage of a connection, in the order in which the doctor examines them.
enum Stage: String, Encodable, CaseIterable, Sendable {
    case name
    case address
    case proxy
    case tls
    case http
    case origin
    case upgrade
    case namespace
    case messageSize
    case polling
    case switching
    case heartbeat

    /// The stage in words.
    var title: String { [.messageSize: "message size", .switching: "upgrade from polling"][self] ?? self.rawValue }

    /// Whether no later stage can be examined after a fault of this one.
    var isRequired: Bool { [.name, .address, .proxy, .tls, .http, .upgrade].contains(self) }

    /// Whether the stage is left out when no time is left.
    var isOptional: Bool { [.origin, .polling, .switching].contains(self) }
}

/// What became of a stage.
struct StageResult: Encodable, Sendable {
    /// How a stage went.
    enum Outcome: String, Encodable, Sendable {
        case passed
        /// Works, but not for every client.
        case warned
        case failed
        case skipped
    }

    var stage: Stage
    var outcome: Outcome
    /// What was found, or why the stage was skipped.
    var detail: String
    var milliseconds: Int
}

/// The result of an examination.
struct Report: Encodable, Sendable {
    /// The summary of all stages.
    enum Health: String, Encodable, Sendable {
        case healthy, warning, fault
        /// No fault was found until Ctrl-C.
        case interrupted
    }

    var url: String
    private(set) var health = Health.healthy
    /// The first fault, or else the first warning.
    private(set) var verdict: Verdict?
    private(set) var stages: [StageResult] = []
    /// The server's chain, its own certificate first; nil without TLS.
    var certificates: [Certificate]?

    /// The chain in words, behind another sentence; empty when the server showed none.
    var chain: String {
        guard let own = self.certificates?.first else { return "" }
        let above = (self.certificates ?? []).dropFirst().map { "; \($0.subject) \($0.ending)" }.joined()
        return ": \(own.sentence)\(above)"
    }

    /// Adds a warning that is about no stage alone.
    mutating func warn(_ verdict: Verdict) {
        if self.health == .healthy { (self.health, self.verdict) = (.warning, verdict) }
    }

    /// Records that the examination did not come to its end.
    mutating func interrupt() { if self.health != .fault { self.health = .interrupted } }

    /// Adds a result; a fault takes the place of a warning.
    mutating func add(_ result: StageResult, _ verdict: Verdict?) {
        self.stages.append(result)
        switch result.outcome {
        case .failed where self.health != .fault: (self.health, self.verdict) = (.fault, verdict)
        case .warned where self.health == .healthy: (self.health, self.verdict) = (.warning, verdict)
        default: ()
        }
    }
}
