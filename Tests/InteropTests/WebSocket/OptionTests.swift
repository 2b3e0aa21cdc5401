internal import Foundation
internal import TestSupport
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanTesting
internal import LinkspanWebSocket
internal import Testing

extension Interop {
    /// What an app can have otherwise about a raw WebSocket.
    @Suite(.overBackEnds) struct OptionTests {
        @Test
        func `texts without an envelope come back as they were`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server, "/echo", configuration: .init { $0.protocol = TextMessageProtocol(event: "line") })
                let texts = ["one", "", "\"quoted\" \\ \u{0}\u{1F600}\u{2028}", String(repeating: "ä", count: 100_000)]
                for text in texts { try client.handler.send("line", text) }
                #expect(try await client.values("line", count: 4, as: String.self) == texts)
            }
        }

        @Test
        func `an awaited send tells what has become of bytes, and one that is held back comes when it is due`()
            async throws
        {
            let clock = VirtualScheduler()
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use(ConnectionManager(options: .init { $0.scheduler = clock })) { bench in
                let client = try await bench.webSocket(
                    server, "/echo", configuration: .init { $0.protocol = BinaryMessageProtocol() })
                let handler = client.handler
                try await client.connected()
                var held = Command(.send, event: "binary", payload: try Payload(Data([3])))
                held.delay = .seconds(60)
                try handler.perform(held)
                try await handler.send("binary", Data([1]), timeout: nil)
                try await handler.send("binary", Data(repeating: 2, count: 1 << 20), timeout: .seconds(10))
                let refused = await #expect(throws: LinkspanError.self) {
                    try await handler.send("binary", "no bytes", timeout: nil)
                }
                #expect(refused?.code == .encodingFailed && refused?.certainty == .notSent)
                #expect(try await client.values("binary", count: 2, as: Data.self).map(\.count) == [1, 1 << 20])
                // An answer of a later turn: the timer is set by then.
                #expect(await handler.commands.map(\.delay) == [.seconds(60)])
                clock.advance(by: .seconds(60))
                // The timer of the attempt may have fired on the way, and may have been set anew behind the clock.
                _ = await handler.commands
                clock.settle()
                #expect(try await client.values("binary", count: 3, as: Data.self).last == Data([3]))
            }
        }

        @Test
        func `a codec of the app's own carries its format`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server, "/echo", configuration: .init { $0.protocol = LineProtocol() })
                try client.handler.send("join", "room 5")
                try client.handler.send("say", "a: b")
                let messages = try await client.messages.first(2)
                #expect(messages.map(\.event) == ["join", "say"])
                #expect(try messages.map { try $0.decode(String.self) } == ["room 5", "a: b"])
            }
        }

        @Test
        func `header fields reach the server`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server, configuration: .init { $0.headers = [.init("X-Client", "seven, or so")] })
                let answer = try await client.handler.request("header", "X-Client")
                #expect(try answer.decode(String?.self) == "seven, or so")
                #expect(try await client.handler.request("header", "X-Other").decode(String?.self) == nil)
            }
        }

        @Test
        func `header fields of the response are kept by name, and never print`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let names = ["X-Served-By", "set-cookie", "X-Other"]
                let client = try await bench.webSocket(server, configuration: .init { $0.responseHeaders = names })
                let info = try await client.connected()
                let fields: [Credentials.Field] = [
                    .init("X-Served-By", "node 7"), .init("set-cookie", "route=a7; Path=/"),
                    .init("set-cookie", "theme=dark"),
                ]
                #expect(info.headers == fields)
                #expect(client.handler.status.link?.headers == fields)
                var dumped = ""
                dump(info, to: &dumped)
                for text in ["\(info)", dumped] { #expect(!text.contains("node 7") && !text.contains("route")) }
                #expect(try await bench.webSocket(server, "/envelope?plain").connected().headers.isEmpty)
                let all = try await bench.webSocket(
                    server, "/envelope?all", configuration: .init { $0.responseHeaders = ["*"] })
                #expect(try await Set(all.connected().headers.map(\.name)).isSuperset(of: ["x-served-by", "upgrade"]))
            }
        }

        @Test
        func `the server gets our close code and reason`() async throws {
            try await withServer(.webSocket) { server in
                try await Bench.use { bench in
                    let leaving = try await bench.webSocket(
                        server, "/envelope?leaving",
                        configuration: .init { $0.closing = .init(code: 4007, reason: "off to bed, gute Nacht ä") })
                    let plain = try await bench.webSocket(server, "/envelope?plain")
                    let switching = try await bench.webSocket(server, "/envelope?switching")
                    for client in [leaving, plain, switching] { try await client.settle() }
                    for client in [leaving, plain] { try client.handler.disconnect() }
                    for code: UInt16 in [0, 999, 1004, 1005, 1006, 1015, 2999, 5000] {
                        let error = #expect(throws: LinkspanError.self) {
                            try switching.handler.disconnect(code: code)
                        }
                        #expect(error?.code == .invalidConfiguration)
                    }
                    #expect(switching.handler.state == .connected)
                    try switching.handler.disconnect(code: 4321, reason: "another user ö")
                    #expect(switching.handler.state == .disconnected)
                    let watching = try await bench.webSocket(server)
                    let answer = try await watching.handler.request("closings", 3, timeout: .seconds(30))
                    let closings = (0..<3).map { [answer[0]?[$0]?[0]?.text, answer[0]?[$0]?[1]?.text] }
                    let texts = Set(closings.map { $0.compactMap { $0.map { String(decoding: $0, as: UTF8.self) } } })
                    #expect(
                        texts == [
                            ["4007", "\"off to bed, gute Nacht ä\""], ["1000", "\"\""], ["4321", "\"another user ö\""],
                        ])
                }
            }
        }

        struct Order: Encodable {
            var code: Int
            var reason = "as told"
        }

        @Test(
            arguments: [
                (4000, .closedByServer), (4007, .refused), (1001, .closedByServer), (1008, .connectionLost),
                (1013, .serverUnavailable), (4100, .connectionLost), (3005, .serverUnavailable),
            ] as [(Int, LinkspanError.Code)])
        func `the app says what a close code means`(_ status: Int, _ code: LinkspanError.Code) async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let configuration = WebSocketConfiguration {
                    $0.closeMeanings = [4000...4099: .stop, 4007...4007: .refused, 3000...3999: .retryLater]
                    $0.closeMeanings[1001] = .stop
                    $0.closeMeanings[1008] = .retry
                }
                let client = try await bench.webSocket(server, configuration: configuration)
                try await client.connected()
                try client.handler.send("close", Order(code: status))
                let reason = try await client.lost()
                #expect(reason.error?.code == code)
                #expect(reason.error?.message.contains("as told") == true)
                #expect(reason.isFailure == [.closedByServer, .refused].contains(code))
                #expect(reason.isLoss != reason.isFailure)
            }
        }

        @Test
        func `the status of a refused upgrade is a value`() async throws {
            let server = try await SharedServers.server(.webSocket)
            try await Bench.use { bench in
                let client = try await bench.webSocket(server, "/nowhere")
                let error = try await client.lost().error
                #expect(error?.code == .refused && error?.httpStatus == 404)
                #expect(LinkspanError(.refused, "for another reason").httpStatus == nil)
            }
        }

        @Test
        func `a code that means refused credentials has them renewed once`() async throws {
            let server = try await SharedServers.server(.webSocket)
            let requests = Journal<CredentialRequest.Reason>("credential requests")
            try await Bench.use { bench in
                let client = try await bench.webSocket(
                    server,
                    credentials: .provider { request in
                        requests.append(request.reason)
                        return Credentials()
                    }, configuration: .init { $0.closeMeanings[4001] = .credentialsRefused })
                try await client.connected()
                try client.handler.send("close", Order(code: 4001))
                try await client.connected(times: 2)
                #expect(requests.entries == [.first, .refused])
            }
        }
    }
}

/// The example of the documentation: lines of the form `event: text`.
private struct LineProtocol: MessageProtocol {
    let name = "lines"

    func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        guard case .event(let name, let payload, nil) = envelope, let text = payload[0]?.string else {
            throw LinkspanError(.encodingFailed, "a line has an event and a text, and there are no replies")
        }
        buffer.append(contentsOf: "\(name): \(text)".utf8)
        return .text
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        let line = String(decoding: text, as: UTF8.self)
        guard let colon = line.firstIndex(of: ":") else {
            throw LinkspanError(.protocolViolation, "a line lacks its colon")
        }
        let words = line[colon...].dropFirst(2)
        return DecodedEnvelope(.event(name: String(line[..<colon]), payload: try Payload(String(words)), id: nil))
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        throw LinkspanError(.protocolViolation, "a binary message came where only lines are expected")
    }
}
