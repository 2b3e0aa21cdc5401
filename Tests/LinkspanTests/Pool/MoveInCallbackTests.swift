@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Moving from a callback", .timeLimit(.minutes(1)))
struct MoveInCallbackTests {
    private let harness = PoolHarness { _ in .init { $0.tellsResumption = true } }
    private let heard = Lock<[String]>([])

    private func configuration(
        _ user: String, _ url: String = "scripted://server"
    ) throws(LinkspanError) -> ConnectionConfiguration {
        try ConnectionBuilder(url).transport(self.harness.transport)
            .credentials(.fixed(.auth(user), account: user)).build()
    }

    private func connect(_ user: String) throws -> ConnectionHandler {
        let handler = try self.configuration(user).connect(by: self.harness.manager)
        self.harness.scheduler.settle()
        return handler
    }

    private func emit(_ numbers: ClosedRange<Int>) {
        for number in numbers { self.harness.transport.openPeers.first?.emit("line", .json("\(number)")) }
        self.harness.scheduler.settle()
    }

    /// Adds a listener that notes the message, and the user and the session when it has moved the connection.
    private func addMover(_ handler: ConnectionHandler, to next: ConnectionConfiguration) throws {
        try handler.on("line") { [heard, manager = self.harness.manager] message in
            heard.withLock { $0.append("mover \(message.payload.text)") }
            guard handler.status.url != next.url || handler.status.account != next.credentials.account else { return }
            #expect(throws: Never.self) { try manager.move(handler, to: next) }
            let status = handler.status
            heard.withLock { $0.append("\(status.account ?? "nobody") \(status.resumption?.exposed ?? "anew")") }
        }
    }

    private func addListener(_ handler: ConnectionHandler) throws {
        try handler.on("line") { [heard] message in heard.withLock { $0.append(message.payload.text) } }
    }

    @Test
    func `a message that moves the connection to another user reaches no listener behind, nor does its session`() throws
    {
        let handler = try self.connect("ann")
        try self.addMover(handler, to: self.configuration("bob"))
        try self.addListener(handler)
        self.emit(1...2)
        #expect(self.heard.withLock { $0 } == ["mover 1", "bob anew"])
        #expect(self.harness.transport.peers.map(\.request.token) == ["ann", "bob"])
        #expect(self.harness.transport.peers.allSatisfy { $0.request.resumption == nil })
        self.heard.withLock { $0 = [] }
        self.emit(3...3)
        #expect(self.heard.withLock { $0 } == ["mover 3", "3"])
    }

    @Test
    func `held messages of one user are not handed over once a listener has moved to another`() throws {
        let handler = try self.connect("ann")
        self.emit(1...3)
        try self.addMover(handler, to: self.configuration("bob"))
        self.harness.scheduler.settle()
        self.emit(4...4)
        #expect(self.heard.withLock { $0 } == ["mover 1", "bob anew", "mover 4"])
    }

    @Test
    func `a move of the same user takes no message from the listeners behind, and no held one`() throws {
        let next = try self.configuration("ann", "scripted://other")
        let handler = try self.connect("ann")
        self.emit(1...2)
        try self.addMover(handler, to: next)
        self.harness.scheduler.settle()
        #expect(self.heard.withLock { $0 } == ["mover 1", "ann anew", "mover 2"])
        self.heard.withLock { $0 = [] }
        try self.addListener(handler)
        try self.addMover(handler, to: self.configuration("ann", "scripted://third"))
        try self.addListener(handler)
        self.emit(3...3)
        #expect(self.heard.withLock { $0 }.filter { $0 == "3" }.count == 2)
    }
}
