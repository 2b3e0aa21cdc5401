internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import LinkspanWebSocket
internal import LinkspanWebSocketProtocol
internal import Testing

/// A client's link, and a server at the other end that says what a test says.
// Unchecked because it belongs to the one task of its test.
final class ScriptedWire: LinkReceiver, @unchecked Sendable {
    private let carriers: SocketIOCarriers?
    private let compression: WebSocketCompression?
    private let highWaterMark: Int?
    private let language: any MessageProtocol
    private(set) lazy var loop = ScriptedLoop { [unowned self] request, stream in self.connected(request, stream) }
    private var stream: ScriptedStream?
    private var server: WebSocketSession?
    private var taken = 0
    private var texts: [String] = []
    private var poll: ScriptedStream?
    private(set) var ends: [LinkspanError.Code] = []
    /// The close codes that the server has received, as far as it was asked by ``heard()``.
    private(set) var closeCodes: [UInt16] = []
    /// The names of the carriers that the link has reported, in order.
    private(set) var carrierNames: [String] = []
    /// The names of the events that the link has received, in order.
    private(set) var events: [String] = []
    /// Everything that the link has reported, in order.
    private(set) var reports: [String] = []
    /// The requests of the client, in order.
    private(set) var requests: [StreamRequest] = []
    /// Whether POSTs wait for ``answerPost()``.
    var holdsPosts = false
    private var posts: [ScriptedStream] = []

    private var handshake: String {
        let upgrades = self.carriers == .upgrade ? #""websocket""# : ""
        return #"0{"sid":"s","upgrades":[\#(upgrades)],"pingInterval":1000,"pingTimeout":1000}"#
    }

    /// Makes a wire of Socket.IO, or of a protocol when there are no carriers.
    init(
        _ carriers: SocketIOCarriers?, compression: WebSocketCompression? = nil, highWaterMark: Int? = nil,
        language: any MessageProtocol = .json
    ) {
        (self.carriers, self.compression, self.highWaterMark) = (carriers, compression, highWaterMark)
        self.language = language
    }

    func open(resuming resumption: Secret? = nil) throws -> any Link {
        let (compression, highWaterMark) = (self.compression, self.highWaterMark)
        let transport: any Transport
        if let carriers {
            transport = SocketIOTransport(
                .init {
                    $0.carriers = carriers
                    $0.compression = compression
                    if let highWaterMark { $0.highWaterMark = highWaterMark }
                }, loop: self.loop)
        } else {
            transport = WebSocketTransport(
                .init {
                    $0.compression = compression
                    $0.protocol = self.language
                    if let highWaterMark { $0.highWaterMark = highWaterMark }
                }, loop: self.loop)
        }
        let url = try ConnectionURL(carriers == nil ? "ws://server/" : "http://server/")
        let link = transport.makeLink(LinkRequest(url: url, resumption: resumption), receiver: self)
        self.loop.enter { link.open() }
        self.loop.run()
        #expect(self.carrierNames.count == (self.language.state?.isReady == false ? 0 : 1))
        return link
    }

    private func connected(_ request: StreamRequest, _ stream: ScriptedStream) {
        self.requests.append(request)
        switch request.purpose {
        case .upgrade:
            self.stream = stream
            self.server = try? stream.upgrade(request)
            if self.carriers == .webSocket { self.say(self.handshake, #"40{"sid":"n"}"#) }
        case .get where !request.target.contains("sid="): stream.answer(self.handshake)
        case .get: self.poll = stream
        case .post(let body):
            let text = String(decoding: body, as: UTF8.self)
            self.texts.append(text)
            guard !self.holdsPosts else { return self.posts.append(stream) }
            stream.answer("ok")
            if text == "40" { self.poll.take()?.answer(#"40{"sid":"n"}"#) }
        }
    }

    /// Has the server say something over the WebSocket.
    func say(_ texts: String...) {
        var bytes: [UInt8] = []
        for text in texts { FrameEncoder.append(.text, payload: Array(text.utf8), mask: nil, to: &bytes) }
        self.say(bytes: bytes)
    }

    /// Has the server say lines in one binary message.
    func say(lines: String...) {
        let text = lines.map { "\($0)\n" }.joined()
        var bytes: [UInt8] = []
        FrameEncoder.append(.binary, payload: Array(text.utf8), mask: nil, to: &bytes)
        self.say(bytes: bytes)
        self.loop.run()
    }

    /// Has the server send bytes over the WebSocket.
    func say(bytes: [UInt8]) {
        if self.loop.isCurrent { self.stream?.say(bytes) } else { self.loop.enter { self.stream?.say(bytes) } }
    }

    /// Has the server answer the poll that it holds back.
    func answerPoll(_ body: String) {
        self.loop.enter { self.poll.take()?.answer(body) }
        self.loop.run()
    }

    /// Has the server begin or continue the answer to the poll that it holds back.
    func answerPoll(part: String, isFirst: Bool = false) {
        self.loop.enter {
            if isFirst { self.poll?.open(ResponseHead(status: 200)) }
            self.poll?.say(Array(part.utf8))
        }
    }

    /// Has the server answer the first POST that it holds back.
    func answerPost() {
        guard !self.posts.isEmpty else {
            Issue.record("no POST waits for its answer")
            return
        }
        self.loop.enter { self.posts.removeFirst().answer("ok") }
        self.loop.run()
    }

    /// The bytes that the client has written over the WebSocket and that count as not sent yet.
    var pendingBytes: Int {
        get { self.stream?.pendingBytes ?? 0 }
        set { self.stream?.pendingBytes = newValue }
    }

    /// Has the system take what waits to be sent over the WebSocket.
    func drain() { self.loop.enter { self.stream?.drain() } }

    /// The bytes that the client has written over the WebSocket, one array for each write.
    var writes: [[UInt8]] { self.stream?.writes ?? [] }

    /// The texts that the server has received so far.
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
                case .closed(let event, _): self.closeCodes.append(event.code.rawValue)
                case .ping, .pong: ()
                }
            }
        }
        self.server = server
        return self.texts
    }

    private static func report(_ event: LinkEvent) -> String {
        switch event {
        case .opened(let info): info.isContinuous ? "opened again" : "opened"
        case .changed: "changed"
        case .message(let message): "\(message.event) \(String(decoding: message.payload.elements, as: UTF8.self))"
        case .reply(let id, _): "reply \(id)"
        case .failed(let id, let error): "failure of \(id ?? 0): \(error.code.rawValue)"
        case .writable: "writable"
        case .closed(let error): "closed: \(error.code.rawValue)"
        }
    }

    func receive(_ next: () -> LinkEvent?) {
        while let event = next() {
            switch event {
            case .opened(let info), .changed(let info): self.carrierNames.append(info.facts["carrier"] ?? "none")
            case .closed(let error): self.ends.append(error.code)
            case .message(let message): self.events.append(message.event)
            case .reply, .failed, .writable: ()
            }
            self.reports.append(Self.report(event))
        }
    }
}

/// Keeps the messages and the ends of a channel.
final class ChannelRecorder: WebSocketChannelHandler {
    private(set) var ends: [WebSocketEnd] = []
    private(set) var messages: [WebSocketMessage] = []

    func opened(_ head: ResponseHead, subprotocol: String?) {}
    func received(_ next: () -> WebSocketMessage?) { while let message = next() { self.messages.append(message) } }
    func writable() {}
    func closed(_ end: WebSocketEnd) { self.ends.append(end) }
}

/// A stream whose peer takes everything.
final class RecordingStream: ByteStream {
    let pendingBytes = 0
    private(set) var output: [UInt8] = []
    private(set) var hasEnded = false

    /// What was written.
    var text: String { String(decoding: self.output, as: UTF8.self) }

    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard !self.hasEnded else { return .refused }
        fill(&self.output)
        return .accepted
    }

    func finish(readingAtMost limit: Int) { self.hasEnded = true }

    func abort() { self.hasEnded = true }

    func setReadingPaused(_ isPaused: Bool) {}
}
