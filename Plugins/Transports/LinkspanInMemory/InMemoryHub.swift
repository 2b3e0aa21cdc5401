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

    /// A client that comes in.
    ///
    /// A struct, because systems before macOS 15 and iOS 18 know no typed errors in the types of functions that stand in
    /// other types.
    private struct Admission: Sendable {
        var peer: HubPeer
        var handler: ConnectHandler?
    }

    private struct State: Sendable {
        var handler: ConnectHandler?
        var peers: [UInt64: HubPeer] = [:]
        var rooms: [String: Set<UInt64>] = [:]
        var lastID: UInt64 = 0
        var outage: LinkspanError?
    }

    /// The executor of the hub and of its clients' connections.
    public let executor: any JobExecutor
    let work: HubWork
    let answers = HubAnswers()
    /// Guards the roster, which is read from any thread.
    private let state = Lock(State())

    /// Makes a hub without clients.
    ///
    /// - Parameter executor: its executor; one of its own by default.
    public init(executor: any JobExecutor = SystemScheduler.makeExecutor(label: "linkspan.memory")) {
        self.executor = executor
        self.work = HubWork(executor: executor)
    }

    /// Sets the handler for each new client, called before its link opens.
    public func onConnect(_ handler: @escaping ConnectHandler) { self.state.withLock { $0.handler = handler } }

    /// The clients that are connected, in the order in which they came.
    public var peers: [HubPeer] { self.state.withLock { $0.peers.values.sorted { $0.id < $1.id } } }

    /// Drops every link and refuses new ones until ``restore()``, as if the network were gone.
    public func cut(_ error: LinkspanError = LinkspanError(.connectionLost, "the hub is disconnected")) {
        self.work.perform {
            let peers = self.state.withLock { state in
                state.outage = error
                return state.peers.values.sorted { $0.id < $1.id }
            }
            for peer in peers { self.end(peer, error) }
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
        self.confined {
            for peer in self.members(of: room) where peer !== sender {
                peer.link.deliver(.message(InboundMessage(event: event, payload: payload)))
            }
        }
    }

    /// The clients in a room, or all when it is nil, in the order in which they came.
    public func members(of room: String?) -> [HubPeer] {
        self.state.withLock { state in
            guard let room else { return state.peers.values.sorted { $0.id < $1.id } }
            return (state.rooms[room] ?? []).sorted().compactMap { state.peers[$0] }
        }
    }

    // MARK: For links and peers

    /// Runs `body` on the executor: at once when the caller is there.
    func confined(_ body: @escaping @Sendable () -> Void) {
        if self.executor.isCurrent { body() } else { self.work.perform(body) }
    }

    func connect(_ link: InMemoryLink, _ request: LinkRequest) {
        let admission = self.state.withLock { state -> Result<Admission, LinkspanError> in
            if let outage = state.outage { return .failure(outage) }
            state.lastID += 1
            let peer = HubPeer(id: state.lastID, request: request, link: link, hub: self)
            state.peers[peer.id] = peer
            return .success(Admission(peer: peer, handler: state.handler))
        }
        do throws(LinkspanError) {
            let admission = try admission.get()
            do throws(LinkspanError) {
                try admission.handler?(admission.peer)
            } catch {
                self.forget(admission.peer)
                throw error
            }
            link.isOpened(as: admission.peer)
        } catch {
            link.ended(error)
        }
    }

    func end(_ peer: HubPeer, _ error: LinkspanError) {
        guard self.forget(peer) else { return }
        peer.ended()
        peer.link.ended(error)
    }

    func join(_ peer: HubPeer, _ room: String) {
        self.state.withLock { state in
            guard state.peers[peer.id] != nil else { return }
            state.rooms[room, default: []].insert(peer.id)
        }
    }

    func leave(_ peer: HubPeer, _ room: String) {
        self.state.withLock { state in
            state.rooms[room]?.remove(peer.id)
            if state.rooms[room]?.isEmpty == true { state.rooms[room] = nil }
        }
    }

    @discardableResult
    private func forget(_ peer: HubPeer) -> Bool {
        self.state.withLock { state in
            for room in state.rooms.keys { state.rooms[room]?.remove(peer.id) }
            state.rooms = state.rooms.filter { !$0.value.isEmpty }
            return state.peers.removeValue(forKey: peer.id) != nil
        }
    }
}
