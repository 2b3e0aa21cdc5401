internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol
internal import Testing

@testable internal import LinkspanNetwork

/// A channel whose loop, stream and owner are the test.
// Unchecked because it belongs to the one task of its test.
private final class ChannelBench: ManualLoop, ByteStream, WebSocketChannelHandler, @unchecked Sendable {
    private(set) var channel: WebSocketChannel?
    private var handler: (any ByteStreamHandler)?
    private(set) var request: StreamRequest?
    private var written: [UInt8] = []
    var pendingBytes = 0
    /// What the channel has asked of its stream: `pause`, `read`, `finish` with its limit, or `abort`.
    private(set) var calls: [String] = []
    private(set) var messages = 0
    private(set) var controls: [Opcode] = []
    private(set) var writables = 0
    private(set) var ends: [WebSocketEnd] = []
    /// Whether the channel refused the message that this handler sent when it was told of the end.
    private(set) var isRefusedAtEnd = false

    init(_ terms: WebSocketTerms = .init(), isAccepted: Bool = true) {
        super.init()
        let request = StreamRequest(host: "h", port: 80, isSecure: false)
        self.enter { self.channel = WebSocketChannel(request, terms: terms, on: self, handler: self) }
        let headers = (self.request?.headers ?? []) + [(name: "Host", value: "h")]
        let answer = try? ServerHandshake().accept(method: "GET") { name in
            headers.filter { $0.name.lowercased() == name }.map(\.value)
        }
        let fields = (answer?.headers ?? []).map { ($0.name.lowercased(), [$0.value]) }
        let head = ResponseHead(status: isAccepted ? 101 : 200, fields: Dictionary(uniqueKeysWithValues: fields))
        self.enter { self.handler?.opened(head) }
    }

    /// Has the server send frames that are read at once.
    func say(_ frames: (Opcode, [UInt8])...) {
        var bytes: [UInt8] = []
        for (opcode, payload) in frames { FrameEncoder.append(opcode, payload: payload, mask: nil, to: &bytes) }
        self.say(bytes: bytes)
    }

    func say(bytes: [UInt8]) { self.enter { self.handler?.received(bytes) } }

    /// Ends the stream.
    func cut() {
        let handler = self.handler.take()
        self.enter { handler?.closed(ByteStreamError(.closedByPeer, "cut")) }
    }

    /// The kinds of the frames that the channel has written.
    var said: [String] {
        var session = WebSocketSession(role: .server, limits: WebSocketLimits())
        session.receive(self.written[...])
        var (output, kinds) = ([UInt8](), [String]())
        while let event = session.next(into: &output) {
            switch consume event {
            case .text: kinds.append("text")
            case .binary: kinds.append("binary")
            case .ping: kinds.append("ping")
            case .pong: kinds.append("pong")
            case .closed: kinds.append("close")
            }
        }
        return kinds
    }

    override func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream {
        (self.request, self.handler) = (request, handler)
        return self
    }

    // MARK: The stream

    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        fill(&self.written)
        return .accepted
    }

    func finish(readingAtMost limit: Int) { self.calls.append("finish \(limit)") }

    func abort() { self.calls.append("abort") }

    func setReadingPaused(_ isPaused: Bool) { self.calls.append(isPaused ? "pause" : "read") }

    // MARK: The owner

    func opened(_ head: ResponseHead, subprotocol: String?) {}

    func received(_ next: () -> WebSocketMessage?) { while next() != nil { self.messages += 1 } }

    func received(_ control: Opcode, payload: ArraySlice<UInt8>) { self.controls.append(control) }

    func writable() { self.writables += 1 }

    func closed(_ end: WebSocketEnd) {
        self.ends.append(end)
        self.isRefusedAtEnd = self.send("late") == .refused
    }

    func send(_ text: String) -> SendAcceptance {
        self.channel?.send(.text, length: text.utf8.count) { $0.append(contentsOf: Array(text.utf8)) } ?? .refused
    }
}

@Suite("A WebSocket channel")
struct WebSocketChannelTests {
    private static let farewell = "finish \(1 << 20)"

    private static func violation(_ bench: ChannelBench) -> WebSocketProtocolError.Code? {
        guard case .closed(let event)? = bench.ends.first else { return nil }
        return event.violation?.code
    }

    // MARK: Ending

    @Test
    func `a channel that closes reads on, as much as one message may have, and ends within five seconds`() {
        let bench = ChannelBench(.init(limits: .init { $0.maxMessageBytes = 100 }))
        bench.enter { bench.channel?.setReadingPaused(true) }
        #expect(bench.channel?.isReceiving == true, "nothing is read for now")
        bench.enter { bench.channel?.close() }
        #expect(bench.calls == ["pause", "read"])
        #expect(bench.send("late") == .refused)
        #expect(bench.channel.map { $0.sendControl(.ping, payload: [UInt8]()) == .refused } == true)
        bench.enter { bench.channel?.setReadingPaused(true) }
        #expect(bench.calls == ["pause", "read", "read"])
        bench.say((.binary, [UInt8](repeating: 0, count: 48)))
        bench.say((.binary, [UInt8](repeating: 0, count: 48)))
        #expect(bench.calls.count == 3)
        bench.say(bytes: [0x82])
        #expect(bench.calls.last == Self.farewell)
        bench.advance(by: .seconds(5))
        #expect(bench.calls.dropFirst(4) == ["finish \(Int.max)"])
    }

    @Test
    func `the deadline of closing stays when the server answers a ping meanwhile`() {
        let bench = ChannelBench(.init(keepAlive: WebSocketKeepAlive(interval: .seconds(1), timeout: .seconds(2))))
        bench.advance(by: .seconds(1))
        bench.enter { bench.channel?.close() }
        #expect(bench.timerCount == 1)
        bench.say((.pong, []))
        bench.advance(by: .seconds(5))
        #expect(bench.calls.last == "finish \(Int.max)")
        bench.cut()
        #expect(bench.ends.count == 1 && bench.timerCount == 0)
    }

    @Test
    func `the first reason for the end counts, and nothing is told after it`() {
        let bench = ChannelBench(isAccepted: false)
        #expect(bench.calls == ["abort"])
        bench.enter { bench.channel?.abort() }
        bench.cut()
        let isHandshake = if case .handshake? = bench.ends.first { true } else { false }
        #expect(isHandshake, "\(bench.ends)")
        let other = ChannelBench()
        other.enter { other.channel?.writable() }
        other.say((.close, [0x03, 0xE8]))
        other.enter { other.channel?.writable() }
        other.cut()
        #expect(other.writables == 1 && other.ends.count == 1 && other.isRefusedAtEnd)
    }

    @Test
    func `an HTTP answer is a refusal before the first message alone`() {
        let answer = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
        let (first, later) = (ChannelBench(), ChannelBench())
        later.say((.binary, [1]))
        for bench in [first, later] { bench.say(bytes: answer) }
        let code: ByteStreamError.Code? = if case .stream(let error)? = first.ends.first { error.code } else { nil }
        #expect(code == .refusedAfterUpgrade)
        #expect(Self.violation(later) != nil && later.messages == 1)
    }

    // MARK: Control frames

    @Test
    func `a ping is answered once, and not while more than the high-water mark waits`() {
        let bench = ChannelBench(.init(highWaterMark: 1_000))
        #expect(bench.request.map { $0.lowWaterMark <= 1_000 } == true)
        bench.say((.ping, []), (.binary, [1]), (.binary, [2]))
        #expect(bench.said == ["pong"] && bench.messages == 2 && bench.controls.isEmpty)
        bench.pendingBytes = 1_001
        bench.say((.ping, []))
        #expect(bench.said == ["pong"])
        // The farewell is sent in any case.
        bench.say(bytes: [0xFF, 0xFF])
        #expect(bench.said == ["pong", "close"])
        #expect(bench.calls == [Self.farewell] && bench.isRefusedAtEnd)
    }

    @Test
    func `more than 200 control frames in a second end the channel`() {
        let bench = ChannelBench()
        for _ in 0..<200 { bench.say((.ping, [])) }
        #expect(bench.ends.isEmpty && bench.channel?.lastHeard == bench.moment)
        bench.say((.ping, []))
        #expect(Self.violation(bench) == .controlFlood && bench.isRefusedAtEnd)
    }

    @Test
    func `of several pongs the first empty one answers the keep-alive, and the others are reported`() {
        let keepAlive = WebSocketKeepAlive(interval: .seconds(1), timeout: .seconds(2))
        let bench = ChannelBench(.init(keepAlive: keepAlive, reportsControl: true))
        bench.advance(by: .seconds(1))
        bench.say((.pong, [7]))
        #expect(bench.controls == [.pong])
        bench.say((.pong, []), (.pong, []))
        #expect(bench.controls == [.pong, .pong])
        #expect(bench.timerCount == 1)
    }

    // MARK: Slow messages

    /// The head of a binary frame of a megabyte.
    private static let head: [UInt8] = [0x82, 127, 0, 0, 0, 0, 0, 0x10, 0, 0]

    @Test(arguments: [(65_535, true), (65_536, false)])
    func `a message that makes less progress than 64 KiB in its deadline ends the channel`(
        progress: Int, isSlow: Bool
    ) {
        let bench = ChannelBench(.init(messageDeadline: .seconds(30)))
        bench.say(bytes: Self.head + [UInt8](repeating: 0, count: 10))
        bench.say(bytes: [UInt8](repeating: 0, count: progress))
        #expect(bench.timerCount == 1)
        bench.advance(by: .seconds(30))
        #expect((Self.violation(bench) == .messageOverdue) == isSlow)
        #expect(bench.isRefusedAtEnd == isSlow)
        guard !isSlow else { return }
        bench.advance(by: .seconds(30))
        #expect(Self.violation(bench) == .messageOverdue)
        bench.cut()
        #expect(bench.ends.count == 1)
    }

    @Test
    func `a message is not slow while nothing is read, nor when it began after the look at the one before`() {
        let bench = ChannelBench(.init(messageDeadline: .seconds(30)))
        bench.say(bytes: [0x82, 2, 0])
        bench.enter { bench.channel?.setReadingPaused(true) }
        bench.advance(by: .seconds(30))
        bench.enter { bench.channel?.setReadingPaused(false) }
        #expect(bench.ends.isEmpty)
        bench.say(bytes: [0, 0x82, 2, 0])
        bench.advance(by: .seconds(30))
        #expect(bench.ends.isEmpty && bench.messages == 1)
        bench.advance(by: .seconds(30))
        #expect(Self.violation(bench) == .messageOverdue)
    }
}
