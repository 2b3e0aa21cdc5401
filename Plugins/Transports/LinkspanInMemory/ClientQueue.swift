internal import DequeModule
internal import Linkspan

/// The events for one client, until its link's receiver takes them; lives on the hub's executor.
final class ClientQueue {
    private enum State { case idle, opening, open, ended }

    /// The most events that are delivered together, so that a pause takes effect.
    private static let batch = 64
    /// The most bytes that wait for a client that has paused reading.
    private static let pausedLimit = 16 << 20

    private let receiver: any LinkReceiver
    private let work: HubWork
    private var state = State.idle
    // Its methods call nobody. It moves its events, where an ordinary deque copies them (W13).
    @exclusivity(unchecked) private var events = UniqueDeque<LinkEvent>()
    /// Events that came before `opened`, and follow it.
    private var early: [LinkEvent] = []
    private var isPaused = false
    /// The bytes that wait while the client has paused reading.
    private var pausedBytes = 0

    init(receiver: any LinkReceiver, work: HubWork) {
        self.receiver = receiver
        self.work = work
    }

    var isOpen: Bool { self.state == .open }

    /// Whether too much waits for a client that has paused reading, which is to be given up.
    var isOverfull: Bool { self.isPaused && self.pausedBytes > Self.pausedLimit }

    /// Notes that the link opens; returns false when it has opened or ended before.
    func begin() -> Bool {
        guard self.state == .idle else { return false }
        self.state = .opening
        return true
    }

    func open(_ info: LinkInfo) {
        guard self.state == .opening else { return }
        self.state = .open
        self.append(.opened(info))
        for event in self.early { self.append(event) }
        self.early = []
    }

    /// Takes an event for the client; returns whether there is room for another.
    func deliver(_ event: consuming LinkEvent) -> Bool {
        switch self.state {
        case .opening: self.early.append(event)
        case .open:
            if self.isPaused { self.pausedBytes += event.byteCount }
            self.append(event)
        case .idle, .ended: ()
        }
        return !self.isOverfull
    }

    func end(_ error: LinkspanError) {
        guard self.state != .ended else { return }
        self.state = .ended
        self.setReadingPaused(false)
        self.append(.closed(error))
    }

    func setReadingPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        if isPaused {
            self.pausedBytes = self.events.indices.reduce(0) { $0 + self.events[$1].byteCount }
        } else if !self.events.isEmpty {
            self.work.addLate { self.flush() }
        }
    }

    private func append(_ event: consuming LinkEvent) {
        if self.events.isEmpty { self.work.addLate { self.flush() } }
        self.events.append(event)
    }

    /// Delivers the events so far, a batch at a time.
    private func flush() {
        guard !self.isPaused, !self.events.isEmpty else { return }
        var left = min(self.events.count, Self.batch)
        if self.events.count > left { self.work.addLate { self.flush() } }
        self.receiver.receive {
            left -= 1
            return left >= 0 ? self.events.popFirst() : nil
        }
    }
}

extension LinkEvent {
    fileprivate var byteCount: Int {
        switch self {
        case .message(let message): message.event.utf8.count + message.payload.byteCount
        case .reply(_, let payload): payload.byteCount
        case .opened, .changed, .failed, .writable, .closed: 0
        }
    }
}
