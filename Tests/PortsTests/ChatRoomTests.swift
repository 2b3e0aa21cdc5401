internal import LinkspanDevServer
internal import LinkspanKit
internal import LinkspanTesting
internal import Synchronization
internal import Testing

@testable internal import Ports

@Suite
struct ChatRoomTests {
    @Test(.timeLimit(.minutes(1)))
    func `lines and members are typed, and a refused token is renewed`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { peer throws(LinkspanError) in
            guard peer.request.credentials.auth?[0]?["token"]?.string == "token 2" else {
                throw LinkspanError(.credentialsRefused, "the token has expired")
            }
            peer.on("say") { message in
                peer.emit("line", message.payload)
                message.reply((try? Payload(["number": 7])) ?? .empty)
            }
            peer.on("who") { $0.reply((try? Payload(["ann", "bob"])) ?? .empty) }
        }
        let server = DevServer(hub: hub)
        try await server.start()
        let asked = Mutex<[CredentialRequest.Reason]>([])
        let (lines, line) = AsyncStream<RoomLine>.makeStream()
        let room = try ChatRoom(server.socketIOURL) { reason in
            let number = asked.withLock { asked in
                asked.append(reason)
                return asked.count
            }
            return ("token \(number)", .seconds(3_600))
        } show: {
            line.yield($0)
        }
        #expect(try await room.say("hello", in: "lobby") == 7)
        #expect(try await room.members(of: "lobby") == ["ann", "bob"])
        #expect(await lines.first { _ in true } == RoomLine(room: "lobby", text: "hello"))
        #expect(asked.withLock { $0.count } == 2)
        room.leave()
        await server.stop()
    }
}
