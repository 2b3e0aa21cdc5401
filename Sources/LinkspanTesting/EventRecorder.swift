public import Linkspan

/// Records states, messages and outcomes of connections in order, and waits for them.
///
/// Over a ``VirtualScheduler`` read ``entries`` after moving the clock. Over real transports use
/// ``wait(for:within:until:)``, which is woken by each new entry.
public final class EventRecorder: Sendable {
    /// Something that happened.
    public enum Entry: Sendable {
        /// A connection changed its state.
        case state(StateChange)
        /// A message came.
        case message(Message)
        /// A command ended. The label is the one given to ``EventRecorder/completion(_:)``.
        case outcome(label: String, Result<Payload, LinkspanError>)
        /// The test's own remark.
        case note(String)
    }

    /// Something did not happen in time.
    public struct Missed: Error, Sendable, CustomStringConvertible {
        /// A description of the awaited entry.
        public let what: String
        /// The time limit that passed.
        public let deadline: Duration
        /// The entries recorded until then.
        public let entries: [Entry]

        /// A sentence with the latest entries.
        public var description: String {
            let list = self.entries.suffix(20).map { "  \($0.summary)" }.joined(separator: "\n")
            return "\(self.what) did not happen within \(self.deadline). The latest of \(self.entries.count):\n\(list)"
        }
    }

    private let log = WatchedState<[Entry]>([])

    /// Makes an empty recorder.
    public init() {}

    // MARK: What to record

    /// Records the state changes and messages of a connection.
    ///
    /// - Parameters:
    ///   - connection: the connection.
    ///   - events: the events to record; nil for every message.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `released`.
    public func watch(_ connection: any Connection, events: [String]? = nil) throws(LinkspanError) {
        _ = connection.onStateChange { self.record(.state($0)) }
        guard let events else {
            try connection.onAny { self.record(.message($0)) }
            return
        }
        for event in events { try connection.on(event) { self.record(.message($0)) } }
    }

    /// A completion for a command, which records its outcome under a label.
    public func completion(_ label: String) -> @Sendable (Result<Payload, LinkspanError>) -> Void {
        { self.record(.outcome(label: label, $0)) }
    }

    /// Records a remark.
    public func note(_ text: String) { self.record(.note(text)) }

    /// Adds an entry and wakes waiters.
    public func record(_ entry: Entry) { self.log.change { $0.append(entry) } }

    // MARK: What was recorded

    /// Everything, in order.
    public var entries: [Entry] { self.log.value }

    /// The state changes, in order.
    public var changes: [StateChange] {
        self.entries.compactMap { if case .state(let change) = $0 { change } else { nil } }
    }

    /// The states that were entered, in order.
    public var states: [ConnectionState] { self.changes.map(\.to) }

    /// The messages, in order.
    public var messages: [Message] {
        self.entries.compactMap { if case .message(let message) = $0 { message } else { nil } }
    }

    /// The remarks, in order.
    public var notes: [String] { self.entries.compactMap { if case .note(let text) = $0 { text } else { nil } } }

    /// The outcomes under a label; a command must have exactly one.
    public func outcomes(_ label: String) -> [Result<Payload, LinkspanError>] {
        self.entries.compactMap { entry in
            guard case .outcome(label, let outcome) = entry else { return nil }
            return outcome
        }
    }

    /// The labels of the outcomes, in the order in which the commands ended.
    package var endedLabels: [String] {
        self.entries.compactMap { if case .outcome(let label, _) = $0 { label } else { nil } }
    }

    // MARK: Waiting

    /// Waits, in real time, until the entries fulfil a condition.
    ///
    /// - Parameters:
    ///   - what: a description of the awaited entry, for the error.
    ///   - deadline: how long at most.
    ///   - condition: checks all entries so far; called on any thread.
    /// - Throws: ``Missed``, which lists the recorded entries.
    public func wait(
        for what: String, within deadline: Duration = .seconds(30),
        until condition: @escaping @Sendable ([Entry]) -> Bool
    ) async throws(Missed) {
        guard await self.log.wait(within: deadline, until: condition) else {
            throw Missed(what: what, deadline: deadline, entries: self.entries)
        }
    }
}

extension EventRecorder.Entry {
    /// The entry in one line, without payloads.
    public var summary: String {
        switch self {
        case .state(let change):
            "\(change.from) -> \(change.to)" + (change.reason.error.map { " (\($0))" } ?? "")
        case .message(let message): "message '\(message.event)'"
        case .outcome(let label, .success): "outcome \(label): success"
        case .outcome(let label, .failure(let error)): "outcome \(label): \(error)"
        case .note(let text): "note: \(text)"
        }
    }
}
