/// What a connection is doing, why, and what happens next: for a person, a status line or a bug report.
///
/// It holds no payload, credential or query.
public struct ConnectionDiagnosis: Sendable {
    /// The endpoint without its query.
    public var url: String
    /// The state.
    public var state: ConnectionState
    /// What is going on inside the state.
    public var progress: ConnectionProgress
    /// The newest failure since the connection was last up.
    public var lastError: LinkspanError?
    /// How often the server has refused the credentials of a provider since it last accepted some; after the second time
    /// they are not renewed any more.
    public var refusals: Int
    /// Commands that wait to be sent or, for deliveries, to be answered.
    public var waitingCommands: Int
    /// The newest changes of state, the oldest first; at most ``historyLimit``.
    public var history: [StateChange]
    /// When this was asked.
    public var time: ContinuousClock.Instant

    /// How many changes are remembered.
    public static let historyLimit = 32

    /// Makes a diagnosis.
    public init(
        url: String, state: ConnectionState, progress: ConnectionProgress, lastError: LinkspanError? = nil,
        refusals: Int = 0, waitingCommands: Int, history: [StateChange] = [], time: ContinuousClock.Instant
    ) {
        self.url = url
        self.state = state
        self.progress = progress
        self.lastError = lastError
        self.refusals = refusals
        self.waitingCommands = waitingCommands
        self.history = history
        self.time = time
    }

    /// One sentence on what is, one on why, one on what happens next.
    public var sentences: [String] {
        [self.whatIs, self.why, self.whatNext].compactMap { $0 }
    }

    private var whatIs: String {
        switch self.state {
        case .created where self.progress == .idle: "The connection to \(self.url) has not been asked to connect."
        case .created: "The connection to \(self.url) is being made for the first time."
        case .connected: "The connection to \(self.url) is up."
        case .disconnected where self.progress == .suspended: "The connection to \(self.url) is suspended."
        case .disconnected: "The connection to \(self.url) is down and stays so."
        case .reconnecting: "The connection to \(self.url) is down and being brought back."
        case .released: "The connection to \(self.url) was released and cannot be used any more."
        }
    }

    private var why: String? {
        guard self.state != .connected else { return nil }
        if let error = self.lastError { return "The reason: \(error.message) (\(error.code.rawValue))." }
        guard case .requested? = self.history.last?.reason, self.state == .disconnected else { return nil }
        return "The app asked for it."
    }

    private var whatNext: String? {
        let waiting = self.waitingCommands
        let queue = waiting == 0 ? "" : " \(waiting) \(waiting == 1 ? "command waits" : "commands wait")."
        guard self.state != .released else { return nil }
        switch self.progress {
        case .open: return queue.isEmpty ? nil : String(queue.dropFirst())
        case .idle where self.state == .disconnected && self.lastError?.code == .credentialsRefused:
            return "\(self.afterRefusal)\(queue)"
        case .idle where self.lastError?.isPermanent == true && self.state == .disconnected:
            return "Trying again with the same settings would not help; connect() tries all the same.\(queue)"
        case .suspended: return "It will be tried when the app comes to the foreground, or connect() is called.\(queue)"
        case .idle: return "It will be tried when connect() is called.\(queue)"
        case .obtainingCredentials(let attempt): return "Attempt \(attempt) waits for credentials.\(queue)"
        case .opening(let attempt): return "Attempt \(attempt) is under way.\(queue)"
        case .waiting(let until, let attempt):
            return "Attempt \(attempt) begins in \(Self.seconds(self.time.duration(to: until))).\(queue)"
        }
    }

    private static func seconds(_ duration: Duration) -> String {
        let tenths = max(0, Int((duration / .milliseconds(100)).rounded()))
        return "\(tenths / 10).\(tenths % 10) s"
    }
}

extension ConnectionDiagnosis: CustomStringConvertible {
    /// The sentences, and the history with a line for each change.
    public var description: String {
        let lines = self.history.map { change in
            let age = Self.seconds(change.time.duration(to: self.time))
            let error = change.reason.error.map { ": \($0.code.rawValue), \($0.message)" } ?? ""
            return "  \(age) ago: \(change.from.rawValue) -> \(change.to.rawValue)\(error)"
        }
        return ([self.sentences.joined(separator: " ")] + lines).joined(separator: "\n")
    }
}

extension MessageChannel {
    /// Says in words why the connection is not up, and what happens next.
    public func explain() -> String { self.diagnosis.sentences.joined(separator: " ") }
}
