public import Linkspan
public import LinkspanRuntime

/// A transport whose links follow scripts in virtual time, to a server made of closures.
///
/// Nothing happens before the scheduler runs: neither opening nor sending calls back at once. All server closures and
/// all link events run on the thread that moves the clock.
public final class ScriptedTransport: Transport {
    /// Decides about a link that opens: throw to refuse it.
    public typealias ConnectHandler = @Sendable (ScriptedPeer) throws(LinkspanError) -> Void
    /// Handles a message that has arrived at the server.
    public typealias MessageHandler = @Sendable (ScriptedMessage) -> Void

    /// A message on its way, as it was recorded.
    public struct Record: Sendable {
        /// The number of its link, counted from 1.
        public let link: Int
        /// The time on the virtual clock, counted from its start.
        public let time: Duration
        /// The name of the event.
        public let event: String
        /// Its arguments.
        public let payload: Payload
        /// The request's number, when a reply is wanted.
        public let requestID: UInt64?
    }

    /// The handler for a link that opens.
    ///
    /// A struct, because systems before macOS 15 and iOS 18 know no typed errors in the types of functions that stand in
    /// other types.
    private struct Admission: Sendable {
        var handler: ConnectHandler?
    }

    private struct State: Sendable {
        var onConnect: ConnectHandler?
        var onMessage: MessageHandler?
        var peers: [ScriptedPeer] = []
        var sent: [Record] = []
        var received: [Record] = []
        var unexpected: [String] = []
    }

    /// `scripted`.
    public let name: String
    /// `scripted`, as in `scripted://server`.
    public let schemes: Set<String>
    let scheduler: VirtualScheduler
    /// The scheduler's executor.
    public var executor: any JobExecutor { self.scheduler.executor }
    private let script: @Sendable (Int) -> LinkScript
    private let state: Confined<State>

    /// Makes a transport.
    ///
    /// - Parameters:
    ///   - scheduler: the clock that drives it.
    ///   - name: the name of the transport; also its URL scheme.
    ///   - script: the script of each link, by its number from 1. Every link is perfect by default.
    public init(
        scheduler: VirtualScheduler, name: String = "scripted",
        script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }
    ) {
        self.scheduler = scheduler
        self.name = name
        self.schemes = [name]
        self.script = script
        self.state = Confined(State(), to: scheduler.executor)
    }

    /// Reads or changes the state on the executor; the test waits for it.
    private func withState<Result: Sendable>(_ body: @escaping @Sendable (inout State) -> Result) -> Result {
        self.scheduler.executor.run { body(&self.state.value) }
    }

    private func look<Result: Sendable>(_ body: @escaping @Sendable (State) -> Result) -> Result {
        self.scheduler.executor.look { body(self.state.value) }
    }

    /// Sets the server's handler for a link that opens, called before the client gets `opened`.
    public func onConnect(_ handler: @escaping ConnectHandler) { self.withState { $0.onConnect = handler } }

    /// Sets the server's handler for messages.
    public func onMessage(_ handler: @escaping MessageHandler) { self.withState { $0.onMessage = handler } }

    /// The links so far, in the order in which they began to open.
    public var peers: [ScriptedPeer] { self.look { $0.peers } }

    /// The links that are open.
    public var openPeers: [ScriptedPeer] { self.peers.filter(\.isOpen) }

    /// The messages that links have accepted, in order.
    public var sent: [Record] { self.look { $0.sent } }

    /// The messages that have arrived at the server, in order.
    public var received: [Record] { self.look { $0.received } }

    /// The events of messages for which a recorded conversation has no answer; see ``play(_:isPaced:)``.
    public var unexpected: [String] { self.look { $0.unexpected } }

    func noteUnexpected(_ event: String) { self.withState { $0.unexpected.append(event) } }

    /// Makes a link to the scripted server.
    public func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        ScriptedLink(request: request, receiver: receiver, server: self, scheduler: self.scheduler)
    }
}

extension ScriptedTransport: ScriptedServer {
    func register(_ link: ScriptedLink) -> (number: Int, script: LinkScript) {
        let number = self.withState { state in
            let number = state.peers.count + 1
            state.peers.append(ScriptedPeer(number: number, link: link, executor: self.scheduler.executor))
            return number
        }
        return (number, self.script(number))
    }

    func admit(_ link: Int) throws(LinkspanError) {
        let (admission, peer) = self.withState { (Admission(handler: $0.onConnect), $0.peers[link - 1]) }
        try admission.handler?(peer)
    }

    func accepted(_ message: OutboundMessage, link: Int) {
        let record = self.record(message, link)
        self.withState { $0.sent.append(record) }
    }

    func arrived(_ message: OutboundMessage, link: Int) {
        let record = self.record(message, link)
        let (handler, peer) = self.withState { state in
            state.received.append(record)
            return (state.onMessage, state.peers[link - 1])
        }
        handler?(ScriptedMessage(peer: peer, message: message))
    }

    func answered(_ id: UInt64, _ payload: Payload, link: Int) {
        self.withState { $0.peers[link - 1] }.answered(id, payload)
    }

    private func record(_ message: OutboundMessage, _ link: Int) -> Record {
        Record(
            link: link, time: self.scheduler.elapsed, event: message.event, payload: message.payload,
            requestID: message.requestID)
    }
}

/// A message that has arrived at a scripted server.
public struct ScriptedMessage: Sendable {
    /// The link it came over.
    public let peer: ScriptedPeer
    let message: OutboundMessage

    /// The name of the event.
    public var event: String { self.message.event }
    /// Its arguments.
    public var payload: Payload { self.message.payload }
    /// The request's number, when the client wants a reply.
    public var requestID: UInt64? { self.message.requestID }

    /// Answers the client; does nothing when it did not ask.
    public func reply(_ payload: Payload = .empty) {
        if let requestID { self.peer.reply(requestID, payload) }
    }
}
