internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

/// A process that exits when its links have ended would leave such a session on the server.
@Suite("Links that are given up while they open a polling session")
struct GivenUpPollingTests {
    private static let carriers = [SocketIOCarriers.polling, .upgrade]

    @Test(arguments: Self.carriers, [true, false])
    func `before the handshake is answered, the link ends when the server has answered the goodbye`(
        _ carriers: SocketIOCarriers, politely: Bool
    ) throws {
        let bench = EngineBench(carriers: carriers)
        let client = try bench.open("/a")
        bench.end(client, politely: politely)
        #expect(client.ends.isEmpty)
        let timers = bench.loop.timerCount
        bench.answer(0, with: bench.handshake)
        #expect(bench.loop.timerCount > timers, "the goodbye has a time of its own")
        #expect(bench.requests == ["GET", "POST 1"])
        #expect(client.ends.isEmpty)
        bench.answer(1, with: "ok")
        #expect(client.ends == [.connectionLost])
    }

    @Test(arguments: Self.carriers, [true, false])
    func `before CONNECT is answered, the link ends when the server has answered the goodbye`(
        _ carriers: SocketIOCarriers, isPosted: Bool
    ) throws {
        let bench = EngineBench(carriers: carriers)
        let client = try bench.open("/a")
        bench.answer(0, with: bench.handshake)
        #expect(bench.requests == ["GET", "GET", "POST 40/a,"])
        if isPosted { bench.answer(2, with: "ok") }
        bench.end(client, politely: false)
        #expect(bench.loop.streams[1].isAborted)
        #expect(bench.requests.dropFirst(3) == ["POST 1"])
        #expect(bench.stream?.request.deadline == .seconds(5))
        #expect(client.ends.isEmpty)
        bench.answer(3, with: "ok")
        #expect(client.ends == [.connectionLost])
    }

    @Test
    func `the next attempt begins at once, with a session of its own`() throws {
        let bench = EngineBench(carriers: .polling)
        let former = try bench.open("/a")
        bench.end(former, politely: false)
        let next = try bench.open("/a")
        bench.answer(1, with: bench.handshake)
        #expect(bench.requests == ["GET", "GET", "GET", "POST 40/a,"])
        bench.answer(0, with: bench.handshake.replacing(#""sid":"e""#, with: #""sid":"former""#))
        #expect(bench.requests.last == "POST 1")
        #expect(bench.stream?.request.target.contains("sid=former") == true)
        bench.answer(4, with: "ok")
        #expect(former.ends == [.connectionLost])
        #expect(next.ends.isEmpty)
    }

    @Test
    func `of two links the first ends at once, and the last with the session`() throws {
        let bench = EngineBench(carriers: .polling)
        let clients = [try bench.open("/a"), try bench.open("/b")]
        bench.end(clients[0], politely: false)
        #expect(clients[0].ends == [.connectionLost])
        bench.end(clients[1], politely: false)
        #expect(clients[1].ends.isEmpty)
        bench.answer(0, with: bench.handshake)
        bench.answer(1, with: "ok")
        #expect(clients.map(\.ends) == [[.connectionLost], [.connectionLost]])
    }

    @Test
    func `nothing but the end is told, once, whatever the client asks for meanwhile`() throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.end(client, politely: false)
        for politely in [false, true] { bench.end(client, politely: politely) }
        #expect(client.ends.isEmpty)
        bench.answer(0, with: bench.handshake + "\u{1E}40/a,{\"sid\":\"s\"}\u{1E}42/a,[\"e\"]")
        bench.answer(1, with: "ok")
        #expect(bench.requests == ["GET", "POST 1"])
        #expect(client.messages.isEmpty)
        #expect(client.ends == [.connectionLost])
    }

    @Test
    func `a server that answers nothing is not waited for without end, and hears of the end all the same`() throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.end(client, politely: false)
        bench.loop.fireTimers()
        #expect(client.ends == [.connectionLost])
        bench.answer(0, with: bench.handshake)
        #expect(bench.requests == ["GET", "POST 1"])
        bench.answer(1, with: "ok")
        #expect(client.ends.count == 1)
    }

    @Test
    func `an answer to the goodbye that does not come is not waited for without end`() throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.answer(0, with: bench.handshake)
        bench.end(client, politely: false)
        #expect(bench.requests.last == "POST 1")
        bench.loop.fireTimers()
        #expect(client.ends == [.connectionLost])
    }

    @Test
    func `an answer that makes no session ends the link`() throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.end(client, politely: false)
        bench.answer(0, with: "we are closed")
        #expect(bench.requests == ["GET"])
        #expect(client.ends == [.connectionLost])
    }

    @Test(arguments: [OpeningStage.resolving(.server), .connecting(.server), .proxy, .tls, .answer])
    func `a request that has not left makes no session, and is not waited for`(_ stage: OpeningStage) throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.loop.streams[0].openingStage = stage
        bench.end(client, politely: false)
        #expect(client.ends.isEmpty == (stage == .answer))
        #expect(bench.loop.streams[0].isAborted == (stage != .answer))
    }

    @Test
    func `the next link may resume before the former one has ended`() throws {
        let bench = EngineBench(carriers: .polling)
        let client = try bench.open("/a")
        bench.answer(0, with: bench.handshake)
        bench.answer(2, with: "ok")
        bench.answer(1, with: "40/a,{\"sid\":\"s\",\"pid\":\"P\"}\u{1E}42/a,[\"e\",\"O1\"]")
        #expect(client.messages == ["e"])
        bench.end(client, politely: false)
        #expect(client.ends.isEmpty)
        #expect(bench.resumption(of: client) == #""P","O1""#)
    }
}
