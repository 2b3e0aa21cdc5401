internal import DequeModule
internal import Linkspan
internal import LinkspanNetwork

/// The output of a ``SocketIOSession`` for its owner.
///
/// The order within each list counts; between them: write, then deliver, then close.
struct SocketIOOutput: Sendable {
    /// An event for the owner of a namespace.
    private struct Delivery: Sendable {
        /// The index that ``SocketIOSession/join(_:auth:recovery:timeout:now:output:)`` returned.
        let namespace: Int
        let event: LinkEvent
    }

    /// A beat of the heartbeat.
    enum Beat: Sendable {
        /// The server has pinged.
        case heard
        /// The server has answered a ping after this time.
        case answered(Duration)
    }

    /// Packets to send, each of one frame or of several with nothing between them.
    var frames: [[WebSocketMessage]] = []
    /// The next event; apart from the others, because most packets are one event, which then needs no memory.
    private var first: Delivery?
    /// The events behind it.
    private var rest: Deque<Delivery> = []
    /// The events before it, of other namespaces than the one whose link takes its own.
    private var aside: Deque<Delivery> = []
    /// The most events that wait while another link takes its own.
    private static let mostAside = 64
    /// Set when the stream has to be dropped.
    ///
    /// Each namespace has its closing event among the events already.
    var close: LinkspanError?
    /// The beat of the heartbeat, if there was one.
    var heartbeat: Beat?
    /// Whether the session's deadlines may have changed.
    var hasNewDeadlines = false

    /// Whether there is nothing to do.
    var isEmpty: Bool { self.first == nil && self.frames.isEmpty && self.close == nil }

    /// The namespace of the next event; nil when there is none.
    var nextNamespace: Int? { self.first?.namespace }

    /// Adds a text frame: all that `write` appends.
    mutating func send(_ write: (inout [UInt8]) -> Void) {
        var text: [UInt8] = []
        write(&text)
        self.frames.append([.text(text[...])])
    }

    /// Takes the next event out, if it is one of that namespace.
    mutating func takeEvent(of namespace: Int) -> LinkEvent? {
        guard self.first?.namespace == namespace, let delivery = self.first.take() else { return nil }
        if !self.rest.isEmpty { self.first = self.rest.popFirst() }
        return delivery.event
    }

    /// Puts the next event aside, so that the link of another namespace may take more; false when that is not possible.
    mutating func putAside() -> Bool {
        // Mostly there is none; taking it out would move it all the same.
        guard self.first != nil, self.frames.isEmpty, self.close == nil, self.aside.count < Self.mostAside,
            let next = self.first.take()
        else { return false }
        self.aside.append(next)
        if !self.rest.isEmpty { self.first = self.rest.popFirst() }
        return true
    }

    /// Puts the events that were put aside before all others.
    mutating func takeBack() {
        guard let next = self.aside.popFirst() else { return }
        if let first = self.first { self.rest.prepend(first) }
        self.first = next
        if !self.aside.isEmpty { self.rest.prepend(contentsOf: self.aside) }
        self.aside.removeAll()
    }

    /// Adds an event of a namespace.
    mutating func deliver(_ event: consuming LinkEvent, to namespace: Int) {
        let delivery = Delivery(namespace: namespace, event: event)
        if self.first == nil { self.first = delivery } else { self.rest.append(delivery) }
    }
}
