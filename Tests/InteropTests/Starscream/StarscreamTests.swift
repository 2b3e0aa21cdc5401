internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocket
internal import Starscream
internal import TestSupport
internal import Testing

// Named after the rows of the table in the documentation of the module Starscream.

extension Interop {
    /// What is the same as in Starscream.
    @Suite(.overWebSockets) struct StarscreamSamenessTests {
        @Test
        func `connected has the header fields of the response, and texts and data come as they were sent`()
            async throws
        {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server, "/echo")
                    let fields = try await one.connected()
                    #expect(fields["X-Served-By"] == "node 7" && fields["Sec-WebSocket-Accept"] != nil)
                    let texts = ["one", "", "\"quoted\" \\ \u{0}\u{1F600}", String(repeating: "ä", count: 100_000)]
                    let data = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
                    for text in texts { one.socket.write(string: text) }
                    one.socket.write(data: data)
                    one.socket.write(stringData: Data("utf8".utf8), completion: nil)
                    #expect(try await one.texts(5) == texts + ["utf8"])
                    #expect(try await one.events.first { $0.data != nil }.data == data)
                    #expect(one.events.entries.compactMap(\.text).count == 5)
                }
            }
        }

        @Test
        func `header fields, also those changed before connect, and sub-protocols reach the server`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server) {
                        $0.setValue("a", forHTTPHeaderField: "X-Name")
                        $0.setValue("other, unknown", forHTTPHeaderField: "Sec-WebSocket-Protocol")
                        $0.setValue("14", forHTTPHeaderField: "Sec-WebSocket-Version")
                        $0.setValue("https://elsewhere.example", forHTTPHeaderField: "Origin")
                    }
                    #expect(try await one.connected()["Sec-WebSocket-Protocol"] == "other")
                    #expect(try await one.ask("header", "\"X-Name\"", id: 1) == #"{"ack":1,"data":["a"]}"#)
                    let origin = try await one.ask("header", "\"Origin\"", id: 2)
                    #expect(origin == #"{"ack":2,"data":["https://elsewhere.example"]}"#)
                    one.socket.disconnect()
                    _ = try await one.ended()
                    one.socket.request.setValue("b", forHTTPHeaderField: "X-Name")
                    one.socket.request.setValue(nil, forHTTPHeaderField: "Sec-WebSocket-Protocol")
                    #expect(try await one.connected(times: 2)["Sec-WebSocket-Protocol"] == nil)
                    #expect(try await one.ask("header", "\"X-Name\"", id: 3) == #"{"ack":3,"data":["b"]}"#)
                }
            }
        }

        @Test
        func `a sub-protocol that is named twice is sent once`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server) {
                        $0.setValue("unknown, other unknown,other", forHTTPHeaderField: "Sec-WebSocket-Protocol")
                    }
                    #expect(try await one.connected()["Sec-WebSocket-Protocol"] == "other")
                    let sent = try await one.ask("header", "\"Sec-WebSocket-Protocol\"")
                    #expect(sent == #"{"ack":1,"data":["unknown, other"]}"#)
                }
            }
        }

        @Test
        func `name and password in the URL are sent as Authorization, unless the request has one`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let url = server.url("/envelope").absoluteString.replacing("://", with: "://Ann:p%40ss@")
                    let one = ObservedSocket(server) { $0.url = URL(string: url) }
                    try await one.connected()
                    let basic = try await one.ask("header", "\"Authorization\"", id: 1)
                    #expect(basic == #"{"ack":1,"data":["Basic QW5uOnBAc3M="]}"#)
                    one.socket.disconnect()
                    _ = try await one.ended()
                    one.socket.request.setValue("Bearer own", forHTTPHeaderField: "authorization")
                    try await one.connected(times: 2)
                    let own = try await one.ask("header", "\"Authorization\"", id: 2)
                    #expect(own == #"{"ack":2,"data":["Bearer own"]}"#)
                    await server.stop()
                    _ = try await one.ended(times: 2)
                    one.socket.connect()
                    let error = try await one.ended(times: 3).error
                    #expect(error?.message.contains("127.0.0.1") == true)
                    let whole = String(reflecting: error)
                    #expect(!whole.contains("p%40ss") && !whole.contains("p@ss"))
                }
            }
        }

        @Test
        func `cookies of the process are sent, and those of the response kept`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    func forget() {
                        for cookie in HTTPCookieStorage.shared.cookies ?? [] where cookie.domain == "127.0.0.1" {
                            HTTPCookieStorage.shared.deleteCookie(cookie)
                        }
                    }
                    forget()
                    defer { forget() }
                    let one = ObservedSocket(server)
                    try await one.connected()
                    #expect(try await one.ask("header", "\"Cookie\"", id: 1) == #"{"ack":1,"data":[null]}"#)
                    one.socket.disconnect()
                    _ = try await one.ended()
                    try await one.connected(times: 2)
                    #expect(try await one.ask("header", "\"Cookie\"", id: 2).contains("route=a7"))
                }
            }
        }

        @Test
        func `the code and reason of the server's close are in disconnected`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server)
                    try await one.connected()
                    one.socket.write(string: #"{"event":"close","data":[{"code":4321,"reason":"gute Nacht ä"}]}"#)
                    let close = try await one.ended().close
                    #expect(close?.code == 4321 && close?.reason == "gute Nacht ä")
                }
            }
        }

        @Test
        func `disconnect sends the code and ends with cancelled, and a code that must not be sent is 1000`()
            async throws
        {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    for code: UInt16 in [1000, 1001, 4007, 1005] {
                        let one = ObservedSocket(server)
                        try await one.connected()
                        one.socket.disconnect(closeCode: code)
                        #expect(try await one.ended().isCancelled)
                        let watching = ObservedSocket(server)
                        try await watching.connected()
                        _ = try await watching.ask("closings", "1")
                        watching.socket.forceDisconnect()
                        #expect(try await watching.ended().isCancelled)
                    }
                    let last = ObservedSocket(server)
                    try await last.connected()
                    let closings = try await last.ask("closings", "8")
                    let codes = closings.split(separator: "[").compactMap { Int($0.prefix { $0.isNumber }) }
                    #expect(codes.sorted() == [1000, 1000, 1000, 1000, 1000, 1000, 1001, 4007])
                }
            }
        }

        @Test
        func `pings and pongs are events, and a ping is answered with its data`() async throws {
            try await withServer(.webSocket, ["--ping-interval", "0.2", "--ping-timeout", "20"]) { server in
                try await withStarscream(trusting: server, { $0.keepAlive?.interval = .milliseconds(100) }) {
                    let one = ObservedSocket(server)
                    try await one.connected()
                    one.socket.write(ping: Data("are you there".utf8))
                    one.socket.write(ping: Data())
                    one.socket.write(pong: Data("unasked".utf8))
                    let pongs = try await one.events.first(2) { $0.pong != nil }.compactMap(\.pong)
                    #expect(pongs == [Data("are you there".utf8), Data()])
                    let pings = try await one.events.first(5) { $0.ping != nil }.compactMap(\.ping)
                    #expect(pings.allSatisfy { $0.count == 4 })
                    // Answers to the pings of the keep-alive stay inside.
                    #expect(one.events.entries.filter { $0.pong != nil }.count == 2)
                }
            }
        }

        @Test
        func `pings are not answered without respondToPingWithPong, from the next connect on`() async throws {
            try await withServer(.webSocket, ["--ping-interval", "0.2", "--ping-timeout", "0.5"]) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server)
                    try await one.connected()
                    one.socket.respondToPingWithPong = false
                    try await one.events.first(5) { $0.ping != nil }
                    #expect(!one.events.entries.contains { $0.isEnd })
                    one.socket.disconnect()
                    _ = try await one.ended()
                    try await one.connected(times: 2)
                    #expect(try await one.ended(times: 2).close?.code == 1011)
                }
            }
        }

        @Test
        func `a refused upgrade is notAnUpgrade with its status`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server, "/nowhere")
                    one.socket.connect()
                    guard case .error(let error) = try await one.ended(),
                        case .notAnUpgrade(let status, let fields)? = error as? HTTPUpgradeError
                    else { return #expect(Bool(false), "\(one.events.entries)") }
                    #expect(status == 404 && fields.isEmpty)
                }
            }
        }

        @Test
        func `a compression handler has messages compressed`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let plain = ObservedSocket(server)
                    try await plain.connected()
                    #expect(try await plain.ask("compression") == #"{"ack":1,"data":[null]}"#)
                    let one = ObservedSocket(server, compressionHandler: WSCompression())
                    try await one.connected()
                    #expect(try await one.ask("compression").contains("serverBits"))
                }
            }
        }

        @Test
        func `events and completions come on the callback queue, in order`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let key = DispatchSpecificKey<Int>()
                    let queue = DispatchQueue(label: "callbacks")
                    queue.setSpecific(key: key, value: 7)
                    let socket = WebSocket(request: server.request("/echo"))
                    let (texts, written) = (Journal<(Int?, String)>("texts"), Journal<(Int?, Int)>("completions"))
                    socket.callbackQueue = queue
                    socket.onEvent = {
                        if let text = $0.text { texts.append((DispatchQueue.getSpecific(key: key), text)) }
                    }
                    socket.connect()
                    for number in 0..<300 {
                        socket.write(string: "\(number)") {
                            written.append((DispatchQueue.getSpecific(key: key), number))
                        }
                    }
                    let heard = try await texts.first(300)
                    #expect(heard.map(\.1) == (0..<300).map(String.init) && heard.allSatisfy { $0.0 == 7 })
                    let left = try await written.first(300)
                    #expect(left.map(\.1) == Array(0..<300) && left.allSatisfy { $0.0 == 7 })
                    #expect(WebSocket(request: server.request("/echo")).callbackQueue.label == DispatchQueue.main.label)
                }
            }
        }
    }

    /// What is better than in Starscream.
    @Suite(.overWebSockets) struct StarscreamAdvantageTests {
        @Test
        func `each link ends with one event, and nothing reconnects by itself`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server)
                    for round in 1...3 {
                        try await one.connected(times: round)
                        try await server.restart()
                        #expect(try await one.ended(times: round).isPeerClosed)
                        one.socket.disconnect()
                        one.socket.forceDisconnect()
                        let other = ObservedSocket(server)
                        try await other.connected()
                        // The only one that has come since the restart.
                        #expect(try await other.ask("requests") == #"{"ack":1,"data":[1]}"#)
                        #expect(one.events.entries.filter(\.isEnd).count == round)
                    }
                    #expect(one.events.entries.count == 6)
                }
            }
        }

        @Test
        func `a write while the link is being opened waits, and one without a link is dropped with its completion`()
            async throws
        {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server, "/echo")
                    let written = Journal<String>("completions")
                    one.socket.write(string: "before") { written.append("before") }
                    one.socket.connect()
                    one.socket.write(string: "early") { written.append("early") }
                    #expect(try await one.texts(1) == ["early"])
                    one.socket.disconnect()
                    one.socket.write(string: "after") { written.append("after") }
                    _ = try await one.ended()
                    one.socket.connect()
                    one.socket.write(string: "given up") { written.append("given up") }
                    one.socket.disconnect()
                    one.socket.connect()
                    one.socket.write(string: "last") { written.append("last") }
                    #expect(try await one.texts(2) == ["early", "last"])
                    #expect(try await written.first(2) == ["early", "last"])
                }
            }
        }

        @Test
        func `a write without a link stays out of the next one, and connect changes no link there is`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server, "/echo")
                    try await one.connected()
                    one.socket.request.setValue("1", forHTTPHeaderField: "X-Later")
                    one.socket.connect()
                    one.socket.write(string: "first")
                    #expect(try await one.texts(1) == ["first"])
                    #expect(one.events.entries.count == 2)
                    one.socket.disconnect()
                    _ = try await one.ended()
                    one.socket.write(string: "lost")
                    try await one.connected(times: 2)
                    one.socket.write(string: "second")
                    #expect(try await one.texts(2) == ["first", "second"])
                }
            }
        }

        @Test
        func `any thread may call, and read and change the properties`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server, "/echo")
                    nonisolated(unsafe) let socket = one.socket
                    let count = 8
                    DispatchQueue.concurrentPerform(iterations: count) { thread in
                        socket.connect()
                        for number in 0..<50 { socket.write(string: "\(thread) \(number)") }
                        socket.respondToPingWithPong = true
                        socket.request.timeoutInterval = 10
                        socket.callbackQueue = socket.callbackQueue
                        _ = (socket.connection, socket.delegate)
                    }
                    let texts = try await one.texts(count * 50)
                    for thread in 0..<count {
                        let own = texts.filter { $0.hasPrefix("\(thread) ") }
                        #expect(own == (0..<50).map { "\(thread) \($0)" })
                    }
                    DispatchQueue.concurrentPerform(iterations: count) { _ in
                        socket.disconnect()
                        socket.connect()
                    }
                    one.socket.disconnect()
                    try await one.events.entries { events in
                        events.filter { $0.fields != nil || $0.isEnd }.count >= 2 && events.last?.isEnd == true
                    }
                }
            }
        }

        @Test
        func `a server that has vanished is noticed by the keep-alive`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(
                    trusting: server,
                    { $0.keepAlive = .init(interval: .milliseconds(100), timeout: .milliseconds(200)) }
                ) {
                    let one = ObservedSocket(server)
                    try await one.connected()
                    server.pause()
                    defer { server.resume() }
                    let error = try await one.ended().error
                    #expect(error?.type == .serverError)
                    #expect((error?.cause as? LinkspanError)?.code == .heartbeatMissed)
                }
            }
        }

        @Test
        func `a server that cannot be reached is an error with a sentence and its cause`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    let one = ObservedSocket(server)
                    await server.stop()
                    one.socket.connect()
                    let error = try await one.ended().error
                    #expect(error?.localizedDescription.contains("127.0.0.1:\(server.port)") == true)
                    #expect((error?.cause as? LinkspanError)?.code == .connectionLost)
                    let none = ObservedSocket(WebSocket(request: URLRequest(url: URL(fileURLWithPath: "/tmp"))))
                    none.socket.connect()
                    #expect((try await none.ended().error?.cause as? LinkspanError)?.code == .invalidURL)
                }
            }
        }

        @Test
        func `a released socket ends its link`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream(trusting: server) {
                    func leave() async throws {
                        let one = ObservedSocket(server)
                        try await one.connected()
                    }
                    try await leave()
                    let watching = ObservedSocket(server)
                    try await watching.connected()
                    #expect(try await watching.ask("closings", "1").contains("1000"))
                }
            }
        }
    }

    /// What differs from Starscream.
    @Suite(.overBackEnds) struct StarscreamDifferenceTests {
        @Test
        func `a server that nobody vouches for is refused, also with allowSelfSigned and without a pinner`()
            async throws
        {
            let certificates = try await SharedServers.certificates()
            try await withServer(.webSocket, certificates.options("good")) { server in
                try await withStarscream {
                    let pinners: [(any CertificatePinning)?] = [
                        nil, FoundationSecurity(), FoundationSecurity(allowSelfSigned: true),
                    ]
                    for pinner in pinners {
                        let one = Self.secure(server, pinner)
                        one.socket.connect()
                        let error = try await one.ended().error
                        #expect(error?.type == .securityError)
                        #expect(error?.code == SecurityErrorCode.acceptFailed.rawValue)
                        #expect(one.events.entries.count == 1)
                    }
                    let trusting = Self.secure(
                        server, FoundationSecurity(policy: TLSPolicy(roots: .file(certificates.authority))))
                    try await trusting.connected()
                }
            }
        }

        @Test
        func `a pinner gives its rules by policy, and a key that is not pinned is refused`() async throws {
            let certificates = try await SharedServers.certificates()
            try await withServer(.webSocket, certificates.options("good")) { server in
                try await withStarscream {
                    let one = Self.secure(server, try OwnPinner(certificates.authority))
                    one.socket.connect()
                    let error = try await one.ended().error
                    #expect(error?.type == .securityError)
                    #expect(error?.code == SecurityErrorCode.pinningFailed.rawValue)
                }
            }
        }

        private final class OwnPinner: CertificatePinning {
            let policy: TLSPolicy

            init(_ authority: String) throws {
                let pin = try PublicKeyPin("sha256/" + Data(repeating: 7, count: 32).base64EncodedString())
                self.policy = TLSPolicy(roots: .file(authority), pins: [pin])
            }
        }

        private static func secure(_ server: PythonServer, _ pinner: (any CertificatePinning)?) -> ObservedSocket {
            let url = URL(string: "wss://127.0.0.1:\(server.port)/echo") ?? server.url("/echo")
            return ObservedSocket(WebSocket(request: URLRequest(url: url), certPinner: pinner))
        }

        @Test
        func `a close frame without a code is 1005`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream {
                    let one = ObservedSocket(server)
                    try await one.connected()
                    one.socket.write(string: #"{"event":"close_without_code","data":[]}"#)
                    let close = try await one.ended().close
                    #expect(close?.code == CloseCode.noStatusReceived.rawValue && close?.reason == "")
                }
            }
        }

        @Test
        func `a message beyond the limit is a protocol error, and configure changes the limit`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream({ $0.maximumMessageBytes = 1_000 }) {
                    let one = ObservedSocket(server, "/echo")
                    try await one.connected()
                    one.socket.write(string: String(repeating: "x", count: 1_001))
                    let error = try await one.ended().error
                    #expect(error?.type == .protocolError && error?.code == CloseCode.protocolError.rawValue)
                }
            }
        }

        @Test
        func `a ping of more than 125 bytes is dropped`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream {
                    let one = ObservedSocket(server, "/echo")
                    let written = Journal<Int>("completions")
                    try await one.connected()
                    for count in [126, 125] {
                        one.socket.write(ping: Data(repeating: 1, count: count)) { written.append(count) }
                    }
                    #expect(try await one.events.first { $0.pong != nil }.pong?.count == 125)
                    #expect(try await written.first(1) == [125])
                }
            }
        }
    }

    /// The way to the native interface.
    @Suite(.overBackEnds) struct StarscreamMigrationTests {
        @Test
        func `old and new code share one link, over reconnects`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream {
                    let one = ObservedSocket(server, "/echo")
                    #expect(one.socket.connection == nil)
                    try await one.connected()
                    let connection = try #require(one.socket.connection)
                    let (texts, data) = (Journal<String>("texts"), Journal<Data>("data"))
                    try connection.on("text", as: String.self) { texts.append((try? $0.get()) ?? "?") }
                    try connection.on("binary", as: Data.self) { data.append((try? $0.get()) ?? Data()) }
                    try connection.send("text", "new")
                    try connection.send("binary", Data([1]))
                    one.socket.write(string: "old")
                    #expect(try await one.texts(2) == ["new", "old"])
                    #expect(try await texts.first(2) == ["new", "old"])
                    #expect(try await data.first(1) == [Data([1])])
                    try await server.restart()
                    _ = try await one.ended()
                    // Other terms, and still the same connection.
                    one.socket.request.setValue("2", forHTTPHeaderField: "X-Round")
                    try await one.connected(times: 2)
                    #expect(one.socket.connection === connection && connection.state == .connected)
                    one.socket.write(string: "again")
                    #expect(try await texts.first(3).last == "again")
                    connection.release()
                    one.socket.write(string: "alone")
                    #expect(try await one.texts(4).last == "alone")
                }
            }
        }

        @Test
        func `two sockets to one URL have a link each`() async throws {
            try await withServer(.webSocket) { server in
                try await withStarscream {
                    let (one, two) = (ObservedSocket(server, "/echo"), ObservedSocket(server, "/echo"))
                    try await one.connected()
                    try await two.connected()
                    one.socket.write(string: "one")
                    #expect(try await one.texts(1) == ["one"])
                    one.socket.disconnect()
                    _ = try await one.ended()
                    two.socket.write(string: "two")
                    #expect(try await two.texts(1) == ["two"])
                    #expect(two.events.entries.count == 2)
                }
            }
        }
    }
}
