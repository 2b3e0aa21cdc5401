@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

/// The text that the next link resumes from, when the former one was given up.
@Suite("Resuming a link that was given up", .timeLimit(.minutes(1)))
struct ResumptionTests {
    private static let pathLost = LinkspanError(.pathLost, "no path")

    private let transport = NumberingTransport()

    private func connected() throws -> PooledConnection {
        let configuration = try ConnectionBuilder("numbering://server").transport(self.transport).build()
        let environment = ConnectionEnvironment(
            scheduler: self.transport.scheduler, random: { 0.5 }, logger: Logger(label: "test"))
        let connection = PooledConnection(id: 1, configuration: configuration, environment: environment)
        try connection.connect()
        self.transport.scheduler.settle()
        return connection
    }

    /// Has messages come in, the last ones in the turn in which a lost path is known, before the link is told.
    private func losePath(of connection: PooledConnection, delivering: Int, dropping: Int) {
        self.transport.withLink { link in
            for _ in 0..<delivering { link.say("line") }
            connection.suspend(Self.pathLost, patience: .seconds(1))
            for _ in 0..<dropping { link.say("line") }
        }
    }

    @Test
    func `messages that came after the path was lost are asked for again`() throws {
        let connection = try self.connected()
        let heard = Counter()
        try connection.on("line") { _ in heard.increment() }
        self.losePath(of: connection, delivering: 2, dropping: 3)
        #expect(heard.value == 2)
        #expect(connection.status.resumption?.exposed == "2")
        self.transport.scheduler.advance(by: .seconds(10))
        #expect(self.transport.resumed.withLock { $0 } == [nil, "2"])
    }

    @Test
    func `an attempt given up in the turn in which its link opens resumes from where it would have`() throws {
        let connection = try self.connected()
        self.losePath(of: connection, delivering: 2, dropping: 0)
        self.transport.opens.withLock { $0 = false }
        self.transport.scheduler.advance(by: .seconds(5))
        self.transport.withLink { link in
            connection.suspend(Self.pathLost, patience: .seconds(1))
            link.answer()
            link.say("line")
        }
        self.transport.scheduler.advance(by: .seconds(10))
        #expect(self.transport.resumed.withLock { $0 }.prefix(3) == [nil, "2", "2"])
    }

    @Test
    func `a link that renounces its session when it is given up has the next one begin anew`() throws {
        let connection = try self.connected()
        self.transport.renounces.withLock { $0 = true }
        self.losePath(of: connection, delivering: 2, dropping: 0)
        self.transport.scheduler.advance(by: .seconds(10))
        #expect(self.transport.resumed.withLock { $0 } == [nil, nil])
    }

    @Test
    func `a listener reads the session that goes on behind its message`() throws {
        let connection = try self.connected()
        let heard = EventRecorder()
        try connection.on("line") { _ in heard.note(connection.status.resumption?.exposed ?? "none") }
        self.transport.withLink { link in for _ in 0..<3 { link.say("line") } }
        #expect(heard.notes == ["1", "2", "3"])
    }
}

/// Links that number the server's messages, and resume after the last that they took in.
private final class NumberingTransport: Transport {
    let name = "numbering"
    let schemes: Set<String> = ["numbering"]
    let scheduler = VirtualScheduler()
    let opens = Lock(true)
    let renounces = Lock(false)
    private let latest: Confined<NumberingLink?>
    /// The texts that the links were to resume from.
    let resumed = Lock<[String?]>([])

    var executor: any JobExecutor { self.scheduler.executor }

    init() { self.latest = Confined(nil, to: self.scheduler.executor) }

    /// Calls `body` with the latest link, in a job.
    func withLink(_ body: @escaping @Sendable (NumberingLink) -> Void) {
        self.executor.execute { if let link = self.latest.value { body(link) } }
    }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        let link = NumberingLink(request, receiver, self)
        self.latest.value = link
        self.resumed.withLock { $0.append(request.resumption?.exposed) }
        return link
    }
}

private final class NumberingLink: Link {
    private let receiver: any LinkReceiver
    private let transport: NumberingTransport
    private var number: Int?

    init(_ request: LinkRequest, _ receiver: any LinkReceiver, _ transport: NumberingTransport) {
        self.receiver = receiver
        self.transport = transport
        self.number = request.resumption.flatMap { Int($0.exposed) }
    }

    var resumption: Secret? { self.number.map { Secret("\($0)") } }

    func open() {
        guard self.transport.opens.withLock({ $0 }) else { return }
        self.transport.executor.executeLocally { self.answer() }
    }

    func answer() { self.receiver.receive([.opened(LinkInfo())]) }

    func say(_ event: String) {
        self.number = (self.number ?? 0) + 1
        self.receiver.receive([.message(InboundMessage(event: event, payload: .empty))])
    }

    func send(_ message: OutboundMessage) -> SendAcceptance { .accepted }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { .accepted }

    func close(code: UInt16?, reason: String) { self.abort() }

    func abort() {
        self.transport.executor.executeLocally {
            if self.transport.renounces.withLock({ $0 }) { self.number = nil }
            self.receiver.receive([.closed(.lost)])
        }
    }
}
