public import Linkspan
public import LinkspanRuntime

/// A server inside the process: links connect to it, it answers them, and it can be pulled like a plug.
///
/// For demos, tests and previews. What the hub does for its clients is given as handlers:
///
/// ```swift
/// let hub = InMemoryHub()
/// hub.onConnect { peer in
///     peer.join("lobby")
///     peer.on("say") { message in
///         hub.emit("message", message.payload, to: "lobby", except: peer)
///         message.reply(.empty)
///     }
/// }
/// let transport = InMemoryTransport(hub: hub)
/// ```
///
/// Everything happens on the hub's executor, in the order in which it was asked for. There is no clock inside, so a
/// test over it is deterministic when it gives the hub an executor that is.
public final class InMemoryHub: Sendable {
    /// Decides about a new client: throw to refuse it.
    public typealias ConnectHandler = @Sendable (HubPeer) throws(LinkspanError) -> Void

    private struct State: Sendable {
        var handler: ConnectHandler?
        var outage: LinkspanError?
    }

    /// The executor of the hub and of its clients' connections.
    public let executor: any JobExecutor
    let work: HubWork
    private let answers: Confined<HubAnswers>
    private let roster = HubRoster<HubPeer>()
    /// Guards the handler, which is set on any thread, and the outage.
    private let state = Lock(State())

    /// Makes a hub without clients.
    ///
    /// - Parameter executor: its executor; one of its own by default.
    public init(executor: any JobExecutor = SystemScheduler.makeExecutor(label: "linkspan.memory")) {
        self.executor = executor
        self.work = HubWork(executor: executor)
        self.answers = Confined(HubAnswers(), to: executor)
    }

    /// Sets the handler for each new client, called before its link opens.
    public func onConnect(_ handler: @escaping ConnectHandler) { self.state.withLock { $0.handler = handler } }

    /// The clients that are connected, in the order in which they came.
    public var peers: [HubPeer] { self.roster.members(of: nil) }

    /// Drops every link and refuses new ones until ``restore()``, as if the network were gone.
    public func cut(_ error: LinkspanError = LinkspanError(.connectionLost, "the hub is disconnected")) {
        self.work.perform {
            self.state.withLock { $0.outage = error }
            for peer in self.peers { peer.end(error) }
        }
    }

    /// Accepts links again after ``cut(_:)``.
    public func restore() { self.work.perform { self.state.withLock { $0.outage = nil } } }

    /// Sends an event to everyone in a room, or to everyone.
    ///
    /// - Parameters:
    ///   - event: the name of the event.
    ///   - payload: its arguments.
    ///   - room: the room; nil for all clients.
    ///   - sender: a client that is left out.
    public func emit(_ event: String, _ payload: Payload, to room: String? = nil, except sender: HubPeer? = nil) {
        self.work.confined {
            for peer in self.members(of: room) where peer !== sender { peer.emit(event, payload) }
        }
    }

    /// The clients in a room, or all when it is nil, in the order in which they came.
    public func members(of room: String?) -> [HubPeer] { self.roster.members(of: room) }

    /// Admits a client whose events go to `events`.
    ///
    /// - Throws: the error of the handler, or that of ``cut(_:)``.
    func admit(_ request: LinkRequest, _ events: ClientQueue) throws(LinkspanError) -> HubPeer {
        let state = self.state.withLock { $0 }
        if let outage = state.outage { throw outage }
        let peer = self.roster.add {
            HubPeer(
                id: $0, request: request, events: events, work: self.work, roster: self.roster, answers: self.answers)
        }
        do throws(LinkspanError) {
            try state.handler?(peer)
        } catch {
            self.roster.remove(peer.id)
            throw error
        }
        return peer
    }
}
