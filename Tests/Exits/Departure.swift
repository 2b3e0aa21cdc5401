internal import Linkspan
internal import LinkspanMessaging
internal import LinkspanNetwork
internal import LinkspanSocketIO

/// What a short-lived process does before it exits.
enum Departure: String {
    /// Drains, then shuts the manager down.
    case shutdown
    /// Stops the whole SDK.
    case stop
    /// Drains, and says no goodbye.
    case drain
    /// Begins to connect, and waits for nothing.
    case leave

    /// Sends one event to a server, and sees to it that it has left.
    func play(_ errand: Errand) async throws {
        switch self {
        case .shutdown:
            let manager = ConnectionManager()
            let handler = try ConnectionBuilder(errand.url).transport(errand.transport).connect(by: manager)
            try await Self.connected(handler)
            try handler.send("note", errand.number)
            _ = await handler.drain(within: .seconds(5))
            await manager.shutdown(within: .seconds(5))
        case .stop:
            let plan = MessagingPlan(url: errand.url, transport: errand.transport)
            let messaging = try await Messaging.start(plan)
            let handler = try await messaging.connect()
            try await Self.connected(handler)
            try handler.send("note", errand.number)
            await messaging.stop()
        case .drain:
            let handler = try ConnectionBuilder(errand.url).transport(errand.transport).connect()
            // It waits for the connection.
            try handler.send("note", errand.number)
            _ = await handler.drain(within: .seconds(5))
        case .leave:
            let handler = try ConnectionBuilder(errand.url).transport(errand.transport).connect()
            // Each number is another moment of the attempt.
            try await Task.sleep(for: .milliseconds(errand.number % 40))
            withExtendedLifetime(handler) {}
        }
    }

    private static func connected(_ handler: ConnectionHandler) async throws {
        for await change in handler.stateChanges where change.to == .connected { return }
    }
}

/// What a process is asked to do: the arguments of its command line.
struct Errand {
    let departure: Departure
    let url: String
    let transport: SocketIOTransport
    /// What the event holds.
    let number: Int

    init?(_ arguments: [String]) {
        guard arguments.count >= 4, let departure = Departure(rawValue: arguments[0]),
            let carriers = SocketIOCarriers(rawValue: arguments[2]), let number = Int(arguments[3])
        else { return nil }
        self.departure = departure
        self.url = arguments[1]
        self.number = number
        self.transport = SocketIOTransport(
            .init {
                $0.carriers = carriers
                if arguments.count > 4 { $0.tls = TLSPolicy(roots: .file(arguments[4])) }
            })
    }
}
