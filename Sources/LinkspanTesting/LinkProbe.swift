internal import Linkspan
internal import LinkspanRuntime

/// Records the events of a link for a check that waits for them, and violations of the link's contract.
final class LinkProbe: LinkReceiver {
    private struct State: Sendable {
        var events: [LinkEvent] = []
        var violations: [String] = []
        var isInside = false
        var isCalling = false
        var isOpened = false
        var isClosed = false
        var handler: (@Sendable (LinkEvent) -> Void)?
    }

    /// The longest wait, in real time, for an event.
    private static let patience = Duration.seconds(30)

    private let state = WatchedState(State())
    private let executor: any JobExecutor
    private let passTime: @Sendable () -> Void

    init(executor: any JobExecutor, passTime: @escaping @Sendable () -> Void) {
        self.executor = executor
        self.passTime = passTime
    }

    /// Makes a call on the link, which must not call back before it returns.
    func called(_ body: () -> Void) {
        self.state.change { $0.isCalling = true }
        body()
        self.state.change { $0.isCalling = false }
    }

    var events: [LinkEvent] { self.state.value.events }
    var violations: [String] { self.state.value.violations }

    /// Calls `handler` from inside the receiver, after the event was recorded.
    func onEvent(_ handler: @escaping @Sendable (LinkEvent) -> Void) { self.state.change { $0.handler = handler } }

    func receive(_ next: () -> LinkEvent?) {
        var events: [LinkEvent] = []
        while let event = next() { events.append(event) }
        let handler = self.state.change { state in
            if state.isInside { state.violations.append("two batches came at once") }
            if state.isCalling { state.violations.append("a batch came inside a call on the link") }
            if !self.executor.isCurrent { state.violations.append("a batch came outside the transport's executor") }
            state.isInside = true
            for event in events { Self.check(event, &state) }
            state.events += events
            return state.handler
        }
        if let handler { for event in events { handler(event) } }
        self.state.change { $0.isInside = false }
    }

    private static func check(_ event: LinkEvent, _ state: inout State) {
        if state.isClosed { state.violations.append("something came after closed") }
        switch event {
        case .opened:
            if state.isOpened { state.violations.append("opened came twice") }
            state.isOpened = true
        case .closed:
            state.isClosed = true
        case .message, .reply, .failed, .changed, .writable:
            if !state.isOpened { state.violations.append("something came before opened") }
        }
    }

    /// Waits until the events so far fulfil a condition.
    func wait(
        for what: String, until condition: @escaping @Sendable ([LinkEvent]) -> Bool
    ) async throws(ConformanceFailure) {
        self.passTime()
        guard await self.state.wait(within: Self.patience, until: { condition($0.events) }) else {
            let events = self.events.suffix(20).map(\.summary).joined(separator: ", ")
            throw ConformanceFailure("\(what) did not happen within \(Self.patience); the latest events: [\(events)]")
        }
    }

    /// Waits for the nth message of an event and answers all of them.
    func messages(_ event: String, _ count: Int = 1) async throws(ConformanceFailure) -> [InboundMessage] {
        try await self.wait(for: "\(count) × '\(event)'") { $0.messages(event).count >= count }
        return self.events.messages(event)
    }

    /// Waits for the reply to a request.
    func reply(to id: UInt64) async throws(ConformanceFailure) -> Payload {
        try await self.wait(for: "the reply to request \(id)") { $0.replies(id).first != nil }
        guard let payload = self.events.replies(id).first else { throw ConformanceFailure("the reply went away") }
        return payload
    }

    /// Waits for the end of the link.
    func end() async throws(ConformanceFailure) -> LinkspanError {
        try await self.wait(for: "the end of the link") { $0.ends.first != nil }
        guard let error = self.events.ends.first else { throw ConformanceFailure("the end went away") }
        return error
    }
}

extension [LinkEvent] {
    func messages(_ event: String) -> [InboundMessage] {
        self.compactMap { entry in
            guard case .message(let message) = entry, message.event == event else { return nil }
            return message
        }
    }

    func replies(_ id: UInt64) -> [Payload] {
        self.compactMap { entry in
            guard case .reply(id, let payload) = entry else { return nil }
            return payload
        }
    }

    var ends: [LinkspanError] {
        self.compactMap { if case .closed(let error) = $0 { error } else { nil } }
    }

    var isOpened: Bool {
        self.contains { if case .opened = $0 { true } else { false } }
    }
}

extension LinkEvent {
    fileprivate var summary: String {
        switch self {
        case .opened: "opened"
        case .message(let message): "message '\(message.event)'"
        case .reply(let id, _): "reply \(id)"
        case .failed(let id, let error): "failed \(id.map { "\($0)" } ?? "nothing"): \(error.code.rawValue)"
        case .changed: "changed"
        case .writable: "writable"
        case .closed(let error): "closed (\(error))"
        }
    }
}

/// A failure of a conformance check.
package struct ConformanceFailure: Error, Sendable, CustomStringConvertible {
    /// One sentence.
    package let description: String

    init(_ description: String) { self.description = description }
}
