internal import Foundation
internal import LinkspanKit
internal import Testing

// The example of the article on testing, word for word.

/// Answers every request with true, and says what a test tells it to.
final class FakeConnection: Connection {
    let status: ConnectionStatus
    let scheduler: any Scheduler = SystemScheduler.shared
    let commands = Lock<[Command]>([])
    private let listeners = Lock<[(String?, @Sendable (Message) -> Void)]>([])

    init() throws {
        self.status = .init(url: try .init("fake://server"), state: .connected)
    }

    func say(_ message: Message) {
        for (event, handler) in self.listeners.withLock({ $0 })
        where event == nil || event == message.event { handler(message) }
    }

    func perform(_ command: Command) throws(LinkspanError) {
        self.commands.withLock { $0.append(command) }
        command.finish(.success(try Payload(true)))
    }

    func subscribe(
        to event: String?, once: Bool, onMark: (@Sendable (Continuity) -> Void)?,
        _ handler: @escaping @Sendable (Message) -> Void
    ) throws(LinkspanError) -> Subscription {
        self.listeners.withLock { $0.append((event, handler)) }
        return Subscription {}
    }

    func onStatusChange(
        _ handler: @escaping @Sendable (StatusChange) -> Void
    ) -> Subscription { Subscription {} }

    func cancel(_ id: Command.ID) {}
    func connect() throws(LinkspanError) {}
    func disconnect() throws(LinkspanError) {}
}

@Suite("The article on testing")
struct FakeConnectionExample {
    @Test
    func `a feature that holds a connection is tested with a fake`() async throws {
        let fake = try FakeConnection()
        let connection: any Connection = fake
        let heard = Lock<[String]>([])
        try connection.on("line") { message in heard.withLock { $0.append(message.event) } }
        fake.say(Message(event: "line", payload: try Payload(1)))
        fake.say(Message(event: "other", payload: try Payload(1)))
        #expect(heard.withLock { $0 } == ["line"])
        try connection.send("say", "hello")
        #expect(try await connection.request("ask").decode(Bool.self))
        #expect(fake.commands.withLock { $0.map(\.event) } == ["say", "ask"])
        var lines = try connection.events("line").makeAsyncIterator()
        fake.say(Message(event: "line", payload: try Payload(2)))
        #expect(try await lines.next()?.message.decode(Int.self) == 2)
    }

    @Test
    func `it takes at most 30 lines`() throws {
        let text = try String(contentsOfFile: #filePath, encoding: .utf8)
        let fake = text.components(separatedBy: "\n}\n").first { $0.contains("final class FakeConnection") } ?? ""
        let lines = fake.split(separator: "\n").filter { !$0.hasPrefix("internal") && !$0.hasPrefix("//") }
        #expect(lines.count + 1 <= 30)
    }
}
