internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import TestedBackEnds
internal import Testing

/// What a link does with a message, down to the bytes.
@Suite("Sending over a link", .timeLimit(.minutes(1)), .overSomeBackEnd)
struct SendingTests {
    @Test(arguments: [true, false])
    func `a message that must not be compressed is not, and those around it are`(isSocketIO: Bool) throws {
        let wire = ScriptedWire(isSocketIO ? .webSocket : nil) { $0.compression = .init() }
        let link = try wire.open()
        let text = String(repeating: "compressible ", count: 100)
        let before = wire.writes.count
        for isCompressible in [true, false, true] {
            let message = OutboundMessage(
                event: "say", payload: try Payload(text, Data(text.utf8)), isCompressible: isCompressible)
            #expect(wire.loop.enter { link.send(message) } == .accepted)
        }
        let writes = wire.writes[before...]
        #expect(writes.map { $0[0] & 0x40 != 0 } == [true, false, true])
        #expect(writes.map { $0.count > 2 * text.utf8.count } == [false, true, false])
        let heard = wire.heard()
        #expect(heard.suffix(6).filter { $0.contains(text) }.count == 6)
    }

    @Test
    func `an open link reports its carrier, and again after an upgrade`() throws {
        let wire = ScriptedWire(.upgrade)
        let link = try wire.open()
        #expect(wire.carrierNames == ["polling"])
        #expect(wire.heard().last == "2probe")
        wire.say("3probe")
        wire.answerPoll("6")
        #expect(wire.carrierNames == ["polling", "websocket"])
        #expect(wire.ends.isEmpty)
        withExtendedLifetime(link) {}
    }

    @Test
    func `a message that waits for an upgrade is compressed by the WebSocket only if it may be`() throws {
        let wire = ScriptedWire(.upgrade) { $0.compression = .init() }
        let link = try wire.open()
        wire.say("3probe")
        let text = String(repeating: "compressible ", count: 100)
        for isCompressible in [true, false] {
            let message = OutboundMessage(event: "say", payload: try Payload(text), isCompressible: isCompressible)
            #expect(wire.loop.enter { link.send(message) } == .accepted)
        }
        let before = wire.writes.count
        wire.answerPoll("6")
        let writes = wire.writes[before...].filter { $0[0] & 0x0F == 1 && $0.count > 20 }
        #expect(writes.map { $0[0] & 0x40 != 0 } == [true, false])
        #expect(wire.heard().filter { $0.contains(text) }.count == 2)
    }

    @Test(arguments: [SocketIOTransport.Carriers.polling, .webSocket])
    func `without negotiated compression the option has no effect`(carriers: SocketIOTransport.Carriers) throws {
        let wire = ScriptedWire(carriers)
        let link = try wire.open()
        let message = OutboundMessage(event: "say", payload: try Payload("hello"), isCompressible: false)
        #expect(wire.loop.enter { link.send(message) } == .accepted)
        wire.loop.run()
        #expect(wire.heard().last == #"42["say","hello"]"#)
    }

    /// What a process finds that was suspended: the deadline has passed, and no timer has fired (E08).
    @Test(arguments: [SocketIOTransport.Carriers.polling, .webSocket])
    func `a message is kept for the next link when the heartbeat is overdue`(
        carriers: SocketIOTransport.Carriers
    ) async throws {
        let wire = ScriptedWire(carriers)
        let link = try wire.open()
        let message = OutboundMessage(event: "say", payload: try Payload("hello"))
        #expect(wire.loop.enter { link.send(message) } == .accepted)
        wire.loop.run()
        // The shortest patience that is believed is 2 s. Nothing on the loop runs meanwhile.
        try await Task.sleep(until: .now + .milliseconds(2_100), clock: .continuous)
        #expect(wire.loop.enter { link.send(message) } == .refused)
        wire.loop.run()
        wire.loop.fireTimers()
        let said = wire.heard().filter { $0.contains("say") }
        #expect(said.count == 1, "nothing was written to a server that is long gone")
        #expect(wire.ends == [.heartbeatMissed])
    }

    @Test
    func `a message is sent when the heartbeat was due and something has come`() async throws {
        let wire = ScriptedWire(.webSocket)
        let link = try wire.open()
        try await Task.sleep(until: .now + .milliseconds(2_100), clock: .continuous)
        wire.say("2")
        let message = OutboundMessage(event: "say", payload: try Payload("hello"))
        #expect(wire.loop.enter { link.send(message) } == .accepted)
    }
}

/// A client's link, and a server at the other end that says what a test says.
// Unchecked because it belongs to the one task of its test.
private final class ScriptedWire: LinkReceiver, @unchecked Sendable {
    private let carriers: SocketIOTransport.Carriers?
    private let compression: WebSocketCompression?
    private(set) lazy var loop = ScriptedLoop { [unowned self] request, stream in self.connected(request, stream) }
    private var stream: ScriptedStream?
    private var server: WebSocketSession?
    private var taken = 0
    private var texts: [String] = []
    private var poll: ScriptedStream?
    private(set) var ends: [LinkspanError.Code] = []
    /// What carried the link, as it told.
    private(set) var carrierNames: [String] = []

    private var handshake: String {
        let upgrades = self.carriers == .upgrade ? #""websocket""# : ""
        return #"0{"sid":"s","upgrades":[\#(upgrades)],"pingInterval":1000,"pingTimeout":1000}"#
    }

    /// Makes a wire of Socket.IO, or of envelopes when there are no carriers.
    init(
        _ carriers: SocketIOTransport.Carriers?, _ configure: (inout SocketIOTransport.Configuration) -> Void = { _ in }
    ) {
        var configuration = SocketIOTransport.Configuration()
        configure(&configuration)
        (self.carriers, self.compression) = (carriers, configuration.compression)
    }

    func open() throws -> any Link {
        let transport: any Transport
        if let carriers {
            transport = SocketIOTransport(
                .init { [compression] in
                    $0.carriers = carriers
                    $0.compression = compression
                }, loop: self.loop)
        } else {
            transport = WebSocketTransport(.init { [compression] in $0.compression = compression }, loop: self.loop)
        }
        let url = try ConnectionURL(carriers == nil ? "ws://server/" : "http://server/")
        let link = transport.makeLink(LinkRequest(url: url), receiver: self)
        self.loop.enter { link.open() }
        self.loop.run()
        #expect(self.carrierNames.count == 1)
        return link
    }

    private func connected(_ request: UpgradeRequest, _ stream: ScriptedStream) {
        switch request.purpose {
        case .upgrade:
            self.stream = stream
            self.server = try? stream.upgrade(request)
            if self.carriers == .webSocket { self.say(self.handshake, #"40{"sid":"n"}"#) }
        case .get where !request.target.contains("sid="): stream.answer(self.handshake)
        case .get: self.poll = stream
        case .post:
            let text = String(decoding: stream.writes.joined(), as: UTF8.self)
            self.texts.append(text)
            stream.answer("ok")
            if text == "40" { self.poll.take()?.answer(#"40{"sid":"n"}"#) }
        }
    }

    /// Has the server say something over the WebSocket.
    func say(_ texts: String...) {
        var bytes: [UInt8] = []
        for text in texts { FrameEncoder.append(.text, payload: Array(text.utf8), mask: nil, to: &bytes) }
        if self.loop.isCurrent { self.stream?.say(bytes) } else { self.loop.enter { self.stream?.say(bytes) } }
    }

    /// Has the server answer the poll that it holds back.
    func answerPoll(_ body: String) {
        self.loop.enter { self.poll.take()?.answer(body) }
        self.loop.run()
    }

    /// What the client has written over the WebSocket, by call.
    var writes: [[UInt8]] { self.stream?.writes ?? [] }

    /// What the server has heard.
    func heard() -> [String] {
        guard var server = self.server.take() else { return self.texts }
        let new = self.writes[self.taken...]
        self.taken += new.count
        var output: [UInt8] = []
        for bytes in new {
            server.receive(bytes[...])
            while let event = server.next(into: &output) {
                switch event {
                case .text(let text), .binary(let text): self.texts.append(String(decoding: text, as: UTF8.self))
                case .pong, .closed: ()
                }
            }
        }
        self.server = server
        return self.texts
    }

    func receive(_ next: () -> LinkEvent?) {
        while let event = next() {
            switch event {
            case .opened(let info), .changed(let info): self.carrierNames.append(info.facts["carrier"] ?? "none")
            case .closed(let error): self.ends.append(error.code)
            case .message, .reply, .writable: ()
            }
        }
    }
}
