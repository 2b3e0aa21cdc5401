internal import Foundation
@testable internal import OldStarscreamPrograms
internal import Starscream
internal import TestSupport
internal import Testing

extension Interop {
    /// Programs written for Starscream, unchanged.
    @MainActor
    @Suite(.overEveryWebSocket) struct StarscreamProgramTests {
        @Test
        func `the example of the README prints what the server returns`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let program = ReadmeExample()
                    let lines = Journal<String>("lines of the program")
                    program.onLine = { lines.append($0) }
                    program.start(url: server.url("/echo"))
                    try await lines.first { $0 == "websocket is connected: true" }
                    program.sayHello()
                    try await lines.first(3)
                    #expect(lines.entries.dropFirst() == ["Received text: Hi Server!", "Received data: 3"])
                    program.stop()
                    try await lines.first { $0 == "cancelled" }
                    #expect(!program.isConnected)
                    program.start(url: server.url("/echo"))
                    try await lines.first(2) { $0 == "websocket is connected: true" }
                    await server.stop()
                    try await lines.first { $0 == "peer closed" }
                    program.start(url: server.url("/echo"))
                    try await lines.first { $0.hasPrefix("websocket encountered an error: ") && $0.contains("refused") }
                }
            }
        }

        @Test
        func `the view controller connects and disconnects by its button, over kills of the server`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let (program, button) = (ViewController(), BarButton())
                    let changes = Journal<String>("changes of the view")
                    program.onChange = { changes.append("\($0) \($1)") }
                    program.viewDidLoad(server.url("/echo").absoluteString)
                    try await changes.first { $0 == "true connected" }
                    program.writeText(button)
                    try await changes.first { $0 == "true hello there!" }
                    program.disconnect(button)
                    try await changes.first { $0 == "false cancelled" }
                    #expect(button.title == "Connect")
                    for round in 2...3 {
                        program.disconnect(button)
                        try await changes.first(round) { $0 == "true connected" }
                        try await server.restart()
                        try await changes.first(round - 1) { $0 == "false peerClosed" }
                    }
                }
            }
        }

        @Test
        func `the members of a chat room hear themselves`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let room = ChatRoom(url: server.url("/echo"), name: "Ada")
                    let heard = Journal<[String]>("messages of the room")
                    room.messagesChanged = { heard.append($0.map(\.body)) }
                    room.join()
                    try await heard.first(1)
                    let long = String(repeating: "hello ", count: 1_000)
                    for body in ["hi", "ä\u{1F600}", long] { room.send(body) }
                    let bodies = try await heard.first { $0.count == 4 }
                    #expect(bodies == ["Ada joined", "hi", "ä\u{1F600}", long])
                }
            }
        }

        @Test
        func `the stream of events begins with the connection and ends with its end`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let publisher = EventPublisher(request: server.request("/echo"))
                    publisher.connect()
                    var seen: [String] = []
                    for await event in publisher.events {
                        if event.fields != nil { publisher.send("one") }
                        if event.text != nil { publisher.finish() }
                        seen.append(event.fields != nil ? "connected" : event.text ?? "\(event)")
                    }
                    #expect(seen == ["connected", "one", "cancelled"])
                }
            }
        }

        @Test
        func `a refused token is replaced in the header, and the socket connects again`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let session = TokenSession(url: server.url("/envelope"), tokens: ["bad", "good"])
                    let events = Journal<WebSocketEvent>("events of the session")
                    session.onEvent = { events.append($0) }
                    session.start()
                    try await events.first { $0.fields != nil }
                    #expect(events.entries.count == 2 && session.tokens.isEmpty)
                    session.socket.write(string: #"{"event":"header","data":["Authorization"],"id":7}"#)
                    #expect(try await events.first { $0.text != nil }.text == #"{"ack":7,"data":["Bearer good"]}"#)
                }
            }
        }

        @Test
        func `an upload goes piece by piece and comes back whole`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let file = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
                    let upload = BinaryUpload(request: server.request("/echo"), file: file, pieceSize: 250_000)
                    let (progress, echoed) = (Journal<Int>("pieces left"), Journal<Data>("the echo"))
                    upload.onProgress = { progress.append($0) }
                    upload.onEchoed = { echoed.append($0) }
                    upload.start()
                    let whole = try await echoed.first(1)
                    #expect(whole == [file])
                    let left = try await progress.first(12)
                    #expect(left == Array((0..<12).reversed()))
                }
            }
        }

        @Test
        func `a program that reconnects by hand loses nothing over kills`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    try await expectConfirmation(of: 60, kills: 3, by: server)
                }
            }
        }
    }

    /// Faults of the server, again and again.
    @Suite(.overBackEnds) struct StarscreamFaultTests {
        @Test
        func `a thousand writes through twenty kills are all confirmed, and each link ends once`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    try await expectConfirmation(of: 1_000, kills: 20, by: server)
                }
            }
        }
    }
}

/// Has a program that reconnects by hand send numbers while the server is killed again and again.
private func expectConfirmation(of count: Int, kills: Int, by server: PythonServer) async throws {
    let program = AutoReconnect(request: server.request("/echo"))
    let (confirmed, connected) = (Journal<Int>("confirmed numbers"), Journal<Int>("connections"))
    let events = Journal<WebSocketEvent>("events")
    program.onConfirmed = { confirmed.append($0) }
    program.onConnected = { connected.append($0) }
    program.onEvent = { events.append($0) }
    program.start()
    for round in 0..<kills {
        // Each kill meets a link.
        try await connected.first(round + 1)
        for number in count * round / kills..<count * (round + 1) / kills { program.send(number) }
        try await confirmed.first { $0 >= count * round / kills }
        try await server.restart()
    }
    try await confirmed.entries { Set($0).count == count }
    try await connected.first(kills + 1)
    program.stop()
    let end = try await events.first { $0.isCancelled }
    #expect(end.isEnd)
    var isOpen = false
    for event in events.entries {
        if event.fields != nil {
            #expect(!isOpen, "a link is told of twice")
            isOpen = true
        } else if event.isEnd {
            #expect(isOpen || event.error != nil, "an end without a link: \(event)")
            isOpen = false
        } else {
            #expect(isOpen, "\(event) without a link")
        }
    }
    #expect(connected.entries.count >= kills + 1)
    #expect(events.entries.contains { $0.isPeerClosed })
}
