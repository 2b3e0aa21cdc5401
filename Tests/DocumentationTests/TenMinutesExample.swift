import LinkspanKit
import LinkspanTesting
import Testing

// The examples of the article "Linkspan in ten minutes", word for word.

struct Line: Codable, Sendable {
    var text: String
}

struct Receipt: Codable, Sendable, Equatable {
    var number: Int
}

extension Event where Value == Line, Reply == Receipt {
    static var say: Self { Event("say") }
}
extension Event where Value == String, Reply == NoReply {
    static var typing: Self { Event("typing") }
}

private struct Session: Sendable {
    func token(for reason: CredentialRequest.Reason) async -> String { "secret" }
}

@Suite("The article of ten minutes", .timeLimit(.minutes(1)))
struct TenMinutesExample {
    private let hub = InMemoryHub()
    private let manager = ConnectionManager()
    private let session = Session()
    private let recorder = EventRecorder()

    private func note(_ text: String) { self.recorder.note(text) }
    private func show(_ line: Line) { self.recorder.note("shown \(line.text)") }

    private func serve() {
        self.hub.onConnect { peer in
            peer.on("who") { message in
                if (try? message.payload.decode(String.self)) == "lobby" {
                    message.reply((try? Payload(["ann"])) ?? .empty)
                }
            }
            peer.on("say") { message in message.reply((try? Payload(Receipt(number: 1))) ?? .empty) }
            peer.on("hello") { message in message.reply(.empty) }
        }
    }

    private func connect() throws -> ConnectionHandler {
        let session = self.session
        let connection = try ConnectionBuilder("memory://lobby")
            .transport(.inMemory(hub))
            .credentials(
                .provider { request in
                    try Credentials(auth: ["token": await session.token(for: request.reason)])
                }
            )
            .connect(by: manager)
        return connection
    }

    @Test
    func `sending works as the article says`() async throws {
        self.serve()
        let connection = try self.connect()
        try await connection.connected(within: .seconds(10))
        try connection.send(.typing, "ann")
        let members = try await connection.request("who", "lobby").decode([String].self)
        let receipt = try await connection.deliver(.say, Line(text: "hello"))
        #expect(members == ["ann"])
        #expect(receipt == Receipt(number: 1))
        for await change in connection.stateChanges.prefix(1) { note("\(change.to)") }
        note(connection.explain())
        #expect(self.recorder.notes.first == "connected")
        #expect(self.recorder.notes.last?.contains("is up") == true)
        connection.release()
    }

    /// Compiled, not run: nobody answers, and it would take its time.
    private func ask(_ connection: ConnectionHandler) async {
        do {
            _ = try await connection.request("who", "attic", timeout: .seconds(2))
        } catch {
            note(
                error.certainty == .notSent
                    ? "safe to ask again" : "may have been received: \(error.code.rawValue)")
        }
    }

    @Test
    func `waiting commands are listed and cleared`() async throws {
        self.hub.cut()
        let connection = try self.connect()
        try connection.send(.typing, "ann")
        try connection.send("other")
        for command in await connection.commands { note("\(command.event) \(command.stage)") }
        connection.cancelCommands { $0.event == "typing" }
        #expect(self.recorder.notes == ["typing waiting", "other waiting"])
        #expect(await connection.commands.map(\.event) == ["other"])
        connection.release()
    }

    @Test
    func `listening works as the article says`() async throws {
        self.hub.onConnect { peer in
            if let line = try? Payload(Line(text: "hi")), let name = try? Payload("bob") {
                peer.emit("say", line)
                peer.emit("typing", name)
            }
        }
        let connection = try self.connect()
        let subscription = try connection.on(.say) { line in
            if case .success(let line) = line { show(line) }
        }
        for await name in try connection.values(.typing).prefix(1) {
            note("\(try name.get()) types")
        }
        subscription.cancel()
        #expect(self.recorder.notes == ["shown hi", "bob types"])
        connection.release()
    }

    @Test
    func `a greeting goes first`() async throws {
        self.serve()
        let configuration = try ConnectionBuilder("memory://attic")
            .transport(.inMemory(hub))
            .options {
                $0.greeting = Greeting("hello") { channel in
                    _ = try await channel.request("hello", 2)
                }
                $0.buffer.commands = 100
                $0.buffer.overflow = .dropOldest
                $0.deliveries.attempts = 5
            }
            .build()
        let connection = try self.manager.connect(configuration)
        let receipt = try await connection.deliver(.say, Line(text: "after the greeting"))
        #expect(receipt == Receipt(number: 1))
        connection.release()
    }
}
