internal import Linkspan
internal import LinkspanTesting

/// A connection over scripted links and virtual time.
struct Scripted {
    let clock = VirtualScheduler()
    let transport: ScriptedTransport
    let connection: ConnectionHandler
    private let manager: ConnectionManager

    init(_ script: @escaping @Sendable (Int) -> LinkScript = { _ in .perfect }) throws {
        let clock = self.clock
        self.transport = ScriptedTransport(scheduler: clock, script: script)
        self.manager = ConnectionManager(
            options: .init {
                $0.scheduler = clock
                $0.random = { 0.5 }
            })
        let configuration = try ConnectionBuilder("scripted://server").transport(self.transport).build()
        self.connection = try self.manager.connect(configuration)
    }

    func emit(_ event: String, _ argument: some Encodable) throws {
        self.transport.openPeers.first?.emit(event, try Payload(argument))
        self.clock.settle()
    }

    /// Loses the link and waits until there is another one.
    func reconnect(saying lines: () throws -> Void = {}) throws {
        self.transport.openPeers.first?.drop()
        self.clock.settle()
        try lines()
        self.clock.advance(by: .seconds(5))
    }
}
