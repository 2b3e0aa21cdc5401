@testable import Linkspan
internal import LinkspanRuntime

/// Links that open at once and reply at once, on the caller's thread: for tests with real threads.
final class InstantTransport: Transport {
    let name = "instant"
    let executor: any JobExecutor = SystemScheduler.makeExecutor(label: "instant")
    let schemes: Set<String> = ["instant"]
    private let open = Lock(0)
    private let onSend: (@Sendable (OutboundMessage) -> Void)?

    init(onSend: (@Sendable (OutboundMessage) -> Void)? = nil) { self.onSend = onSend }

    var openLinks: Int { self.open.withLock { $0 } }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        InstantLink(receiver: receiver, onSend: self.onSend) { change in self.open.withLock { $0 += change } }
    }
}

private final class InstantLink: Link {
    private struct State: Sendable {
        var jobs: [LinkEvent] = []
        var isRunning = false
        var isOpen = false
        var isEnded = false
    }

    private let receiver: any LinkReceiver
    private let onSend: (@Sendable (OutboundMessage) -> Void)?
    private let count: @Sendable (Int) -> Void
    private let state = Lock(State())

    init(
        receiver: any LinkReceiver, onSend: (@Sendable (OutboundMessage) -> Void)?,
        count: @escaping @Sendable (Int) -> Void
    ) {
        self.receiver = receiver
        self.onSend = onSend
        self.count = count
    }

    func open() {
        let isFirst = self.state.withLock { state in
            guard !state.isOpen, !state.isEnded else { return false }
            state.isOpen = true
            return true
        }
        guard isFirst else { return }
        self.count(1)
        self.tell(.opened(LinkInfo()))
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        guard self.state.withLock({ $0.isOpen && !$0.isEnded }) else { return .refused }
        self.onSend?(message)
        if let id = message.requestID { self.tell(.reply(id: id, payload: message.payload)) }
        return .accepted
    }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { .accepted }

    func close(code: UInt16?, reason: String) { self.abort() }

    func abort() {
        let (isFirst, wasOpen) = self.state.withLock { state in
            defer { state.isEnded = true }
            return (!state.isEnded, state.isOpen)
        }
        guard isFirst else { return }
        if wasOpen { self.count(-1) }
        self.tell(.closed(.lost))
    }

    /// One event at a time, from any caller.
    private func tell(_ event: LinkEvent) {
        let mustRun = self.state.withLock { state in
            state.jobs.append(event)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        guard mustRun else { return }
        while true {
            let batch = self.state.withLock { state in
                defer { state.jobs = [] }
                state.isRunning = !state.jobs.isEmpty
                return state.jobs
            }
            guard !batch.isEmpty else { return }
            self.receiver.receive(batch)
        }
    }
}
