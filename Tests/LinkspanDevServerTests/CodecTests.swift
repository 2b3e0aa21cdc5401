internal import Linkspan
internal import LinkspanDevServer
internal import LinkspanInMemory
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import Testing
internal import TestSupport

/// A codec that subscribes, answers and reads several events of one message.
@Suite(.timeLimit(.minutes(1)))
struct CodecTests {
    /// The default envelope, with subscriptions, pings and lists of its own.
    private struct Feed: MessageProtocol {
        let name = "feed"
        var topics: [String]

        func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
            try JSONMessageProtocol().encode(envelope, to: &buffer)
        }

        func begin(_ start: SessionStart) throws(LinkspanError) -> [WebSocketMessage] {
            guard !self.topics.isEmpty else { throw LinkspanError(.invalidConfiguration, "there is no topic") }
            return try self.topics.map { topic throws(LinkspanError) in try Self.text("subscribe", Payload(topic)) }
        }

        func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            let decoded = try JSONMessageProtocol().decode(text: text)
            guard case .event(let name, let payload, nil)? = decoded.envelopes.first else { return decoded }
            switch name {
            case "ping": return DecodedEnvelope([], answers: [try Self.text("pong", payload)])
            case "list":
                return DecodedEnvelope(
                    try payload.values.map { value throws(LinkspanError) in
                        .event(name: "item", payload: try Payload(value), id: nil)
                    })
            default: return decoded
            }
        }

        func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
            try JSONMessageProtocol().decode(binary: binary)
        }

        private static func text(_ event: String, _ payload: Payload) throws(LinkspanError) -> WebSocketMessage {
            var buffer: [UInt8] = []
            _ = try JSONMessageProtocol().encode(.event(name: event, payload: payload, id: nil), to: &buffer)
            return .text(buffer[...])
        }
    }

    /// Sends nothing but a blob, of whatever it gets.
    private struct Attaching: MessageProtocol {
        let name = "attaching"

        func encode(_ envelope: Envelope, to buffer: inout [UInt8]) -> EncodedKind { .attachment }

        func decode(text: ArraySlice<UInt8>) -> DecodedEnvelope { DecodedEnvelope([]) }

        func decode(binary: ArraySlice<UInt8>) -> DecodedEnvelope { DecodedEnvelope([]) }
    }

    @Test
    func `subscribes on each new link, answers pings unseen, and reads a list as its items`() async throws {
        let (hub, asked) = (InMemoryHub(), Journal<String>("what the client has said"))
        hub.onConnect { peer in
            peer.on("subscribe") { message in
                asked.append("subscribe \(message.payload[0]?.string ?? "")")
                peer.emit("ping", message.payload)
                try? peer.emit("list", 1, 2, 3)
            }
            peer.on("pong") { asked.append("pong \($0.payload[0]?.string ?? "")") }
        }
        try await Bench.run(hub: hub) { bench in
            let transport = WebSocketTransport(.init { $0.protocol = Feed(topics: ["BTC"]) }, loop: bench.loop)
            let manager = ConnectionManager()
            let handler = try manager.prepare(
                try ConnectionBuilder(bench.server.webSocketURL).transport(transport).build())
            let heard = Journal<String>("what the client has heard")
            // Before it connects: what nobody hears is kept for listeners of its name alone.
            try handler.onAny { heard.append("\($0.event) \($0.payload[0]?.int ?? 0)") }
            try handler.connect()
            #expect(try await asked.first(2) == ["subscribe BTC", "pong BTC"])
            #expect(try await heard.first(3) == ["item 1", "item 2", "item 3"])
            hub.cut()
            hub.restore()
            #expect(try await asked.first(4).suffix(2) == ["subscribe BTC", "pong BTC"])
            await manager.shutdown()
        }
    }

    @Test
    func `that cannot begin a session ends its link with its error`() async throws {
        try await Bench.run(hub: InMemoryHub()) { bench in
            let transport = WebSocketTransport(.init { $0.protocol = Feed(topics: []) }, loop: bench.loop)
            let manager = ConnectionManager()
            let handler = try ConnectionBuilder(bench.server.webSocketURL).transport(transport).connect(by: manager)
            let error = await #expect(throws: LinkspanError.self) { try await handler.connected(within: .seconds(60)) }
            #expect(
                error?.code == .invalidConfiguration || (error?.cause as? LinkspanError)?.code == .invalidConfiguration)
            await manager.shutdown()
        }
    }

    @Test
    func `that sends the blob of a message without one fails what was to be sent`() async throws {
        try await Bench.run(hub: InMemoryHub()) { bench in
            let transport = WebSocketTransport(.init { $0.protocol = Attaching() }, loop: bench.loop)
            let manager = ConnectionManager()
            let handler = try ConnectionBuilder(bench.server.webSocketURL).transport(transport).connect(by: manager)
            let error = await #expect(throws: LinkspanError.self) {
                try await handler.request("item", timeout: .seconds(30))
            }
            #expect(error?.code == .encodingFailed)
            await manager.shutdown()
        }
    }
}

/// A protocol that has something to say without a message of the server.
@Suite(.timeLimit(.minutes(1)))
struct DeadlineTests {
    /// Is ready after a while, of which the app hears, and answers requests itself.
    private struct Clerk: MessageProtocol {
        let name = "clerk"
        private var isReady = false
        private var asked: [UInt64] = []

        var state: SessionState? {
            SessionState(isReady: self.isReady, deadline: self.isReady && self.asked.isEmpty ? nil : .zero)
        }

        func begin(_ start: SessionStart) -> [WebSocketMessage] { [] }

        mutating func deadlinePassed(at time: Duration) throws(LinkspanError) -> DecodedEnvelope {
            defer { (self.isReady, self.asked) = (true, []) }
            guard self.isReady else { return DecodedEnvelope(.event(name: "open", payload: try Payload(1), id: nil)) }
            return DecodedEnvelope(
                try self.asked.map { id throws(LinkspanError) in .reply(id: id, payload: try Payload("yes")) },
                answers: [.text(Array(#"{"event":"asked"}"#.utf8)[...])])
        }

        mutating func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
            if case .event(_, _, let id?) = envelope { self.asked.append(id) }
            return .nothing
        }

        func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope { DecodedEnvelope() }
        func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope { DecodedEnvelope() }
    }

    @Test
    func `a deadline brings events before the session is ready, replies, and messages for the server`() async throws {
        let (hub, said) = (InMemoryHub(), Journal<String>("what the client has said"))
        hub.onConnect { peer in peer.onOther { said.append($0.event) } }
        try await Bench.run(hub: hub) { bench in
            let transport = WebSocketTransport(.init { $0.protocol = Clerk() }, loop: bench.loop)
            let manager = ConnectionManager()
            let handler = try manager.prepare(
                try ConnectionBuilder(bench.server.webSocketURL).transport(transport).build())
            let heard = Journal<String>("what the client has heard")
            // Before it connects: what nobody hears is kept for listeners of its name alone.
            try handler.onAny { heard.append("\($0.event) \($0.payload[0]?.int ?? 0)") }
            try handler.connect()
            #expect(try await heard.first(1) == ["open 1"])
            #expect(try await handler.request("may I", timeout: .seconds(60)).decode(String.self) == "yes")
            #expect(try await said.first(1) == ["asked"])
            await manager.shutdown()
        }
    }
}

/// The packets of Socket.IO as they are by default, without attachments, with as many spaces as an event has arguments.
struct PaddingCodec: SocketIOCodec {
    let name = "padding"

    func encode(_ packet: SocketIOCodecPacket) throws(LinkspanError) -> [WebSocketMessage] {
        var text = Array("\(packet.kind.rawValue)\(packet.id.map { "\($0)" } ?? "")".utf8)
        switch packet.kind {
        case .event:
            let arguments = packet.payload.elements
            text += Array(#"["\#(packet.event)""#.utf8) + (arguments.isEmpty ? [] : Array(",".utf8)) + arguments
            text += Array(repeating: UInt8(ascii: " "), count: arguments.count) + Array("]".utf8)
        case .acknowledgement: text += Array("[".utf8) + packet.payload.elements + Array("]".utf8)
        case .connect, .connectError, .disconnect: text += packet.payload.elements
        }
        return [.text(text[...])]
    }

    func makeDecoder(maximumBytes: Int) -> any SocketIOCodecDecoder { Decoder() }

    /// Reads what the development server says to a client without listeners.
    private struct Decoder: SocketIOCodecDecoder {
        mutating func decode(_ message: WebSocketMessage) throws(LinkspanError) -> SocketIOCodecPacket? {
            guard case .text(var text) = message, let digit = text.popFirst(),
                let kind = SocketIOCodecPacket.Kind(rawValue: digit - UInt8(ascii: "0"))
            else { throw LinkspanError(.protocolViolation, "a packet is not text") }
            let digits = text.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
            text = text.dropFirst(digits.count)
            if kind == .acknowledgement { text = text.dropFirst().dropLast() }
            let payload = text.isEmpty ? Payload.empty : try Payload(checking: text)
            return SocketIOCodecPacket(kind, id: UInt64(String(decoding: digits, as: UTF8.self)), payload: payload)
        }
    }
}

/// The default envelope, with as many spaces as it has bytes.
struct PaddingMessageProtocol: MessageProtocol {
    let name = "padding"

    func begin(_ start: SessionStart) -> [WebSocketMessage] { JSONMessageProtocol().begin(start) }

    func encode(_ envelope: Envelope, to buffer: inout [UInt8]) throws(LinkspanError) -> EncodedKind {
        let kind = try JSONMessageProtocol().encode(envelope, to: &buffer)
        buffer += Array(repeating: UInt8(ascii: " "), count: buffer.count)
        return kind
    }

    func decode(text: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try JSONMessageProtocol().decode(text: text)
    }

    func decode(binary: ArraySlice<UInt8>) throws(LinkspanError) -> DecodedEnvelope {
        try JSONMessageProtocol().decode(binary: binary)
    }
}
