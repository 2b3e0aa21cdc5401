internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol
internal import Testing

@testable import LinkspanSocketIO

/// Links of one engine over a WebSocket, or over long polling, whose other end is the test.
// Unchecked because it belongs to the one task of its test.
final class EngineBench: @unchecked Sendable {
    /// A link, and what it has told.
    final class Client: LinkReceiver, @unchecked Sendable {
        fileprivate(set) var link: (any Link)?
        private(set) var messages: [String] = []
        /// The numbers of the requests that were answered.
        private(set) var replies: [UInt64] = []
        private(set) var errors: [LinkspanError] = []
        /// The number of times that the engine has told the link to send again.
        private(set) var writables = 0
        /// The latest facts about the link.
        private(set) var info = LinkInfo()
        var ends: [LinkspanError.Code] { self.errors.map(\.code) }
        /// What the client does with each message, while it is delivered.
        var onMessage: ((Client) -> Void)?
        /// What the client does at its end.
        var onEnd: (() -> Void)?

        func receive(_ next: () -> LinkEvent?) {
            while let event = next() {
                switch event {
                case .message(let message):
                    self.messages.append(message.event)
                    self.onMessage?(self)
                case .reply(let id, _): self.replies.append(id)
                case .closed(let error):
                    self.errors.append(error)
                    self.onEnd?()
                case .writable: self.writables += 1
                case .opened(let info), .changed(let info): self.info = info
                case .failed: ()
                }
            }
        }
    }

    let loop = BenchLoop()
    private let transport: SocketIOTransport
    let handshake = #"0{"sid":"e","upgrades":[],"pingInterval":1000,"pingTimeout":1000}"#

    /// Makes a bench for one version and one way to carry packets; with polling, the test answers each request.
    init(
        _ version: SocketIOConfiguration.Version = .v4, carriers: SocketIOCarriers = .webSocket,
        codec: (any SocketIOCodec)? = nil
    ) {
        self.transport = SocketIOTransport(
            .init {
                $0.protocol = version
                $0.carriers = carriers
                $0.codec = codec
            }, loop: self.loop)
    }

    /// The newest stream.
    var stream: BenchStream? { self.loop.streams.last }

    /// Begins to open a link to a namespace; the first of an engine over a WebSocket gets the handshake of Engine.IO.
    func open(_ namespace: String, resuming resumption: String? = nil, auth: Payload? = nil) throws -> Client {
        let client = Client()
        let request = LinkRequest(
            url: try ConnectionURL("http://server\(namespace)"), credentials: Credentials(auth: auth),
            resumption: resumption.map { Secret($0) })
        let link = self.transport.makeLink(request, receiver: client)
        client.link = link
        let streams = self.loop.streams.count
        self.loop.enter { link.open() }
        if self.loop.streams.count > streams, self.transport.configuration.carriers == .webSocket, self.loop.upgrades {
            self.say(self.handshake)
        }
        return client
    }

    /// Opens a link to a namespace in which the server offers recovery, and has events come with these offsets.
    func opened(_ namespace: String, offsets: String...) throws -> Client {
        let client = try self.open(namespace)
        self.say(#"40\#(namespace),{"sid":"s","pid":"P"}"#)
        for offset in offsets { self.say(#"42\#(namespace),["e","\#(offset)"]"#) }
        #expect(client.messages.count == offsets.count)
        return client
    }

    /// Has the server send text frames.
    func say(_ texts: String...) {
        for text in texts { self.say(.text, Array(text.utf8)) }
    }

    /// Has the server send text frames that are read at once.
    func sayAtOnce(_ texts: String...) {
        var bytes: [UInt8] = []
        for text in texts { FrameEncoder.append(.text, payload: Array(text.utf8), mask: nil, to: &bytes) }
        self.loop.enter { self.stream?.say(bytes) }
    }

    /// Has the server send a frame.
    func say(_ opcode: Opcode, _ payload: [UInt8]) {
        var bytes: [UInt8] = []
        FrameEncoder.append(opcode, payload: payload, mask: nil, to: &bytes)
        self.loop.enter { self.stream?.say(bytes) }
    }

    /// Has the server send bytes.
    func say(bytes: [UInt8]) { self.loop.enter { self.stream?.say(bytes) } }

    /// The text frames of the client on the newest stream.
    var said: [String] {
        (self.stream?.frames ?? []).compactMap { frame in
            if case .text(let text) = frame { String(decoding: text, as: UTF8.self) } else { nil }
        }
    }

    /// The pings of the client on the newest stream.
    var pings: Int {
        (self.stream?.frames ?? []).compactMap { frame in if case .ping(let payload) = frame { payload } else { nil } }
            .count
    }

    /// The binary frames of the client on the newest stream.
    var saidInBinary: [[UInt8]] {
        (self.stream?.frames ?? []).compactMap { if case .binary(let bytes) = $0 { Array(bytes) } else { nil } }
    }

    /// The requests of a client that polls, in order: the method, and the body of a POST.
    var requests: [String] { self.loop.streams.map(\.summary) }

    /// Has the server answer one of ``requests``.
    func answer(_ request: Int, with body: String) {
        self.loop.enter { self.loop.streams[request].answer(body) }
    }

    /// Has the server answer the newest GET, with a cookie if it sets one.
    func answerPoll(with body: String, cookie: String? = nil) {
        let fields = cookie.map { ["set-cookie": [$0]] } ?? [:]
        self.loop.enter { self.loop.streams.last { $0.request.purpose == .get }?.answer(body, fields: fields) }
    }

    /// Has the server begin to answer the newest GET.
    func beginAnswer(with part: String) {
        self.loop.enter { self.loop.streams.last { $0.request.purpose == .get }?.begin(part) }
    }

    /// Has the server refuse the newest GET.
    func refusePoll(status: Int) {
        self.loop.enter { self.loop.streams.last { $0.request.purpose == .get }?.answer("", status: status) }
    }

    /// Has the newest stream end without an answer.
    func cut() { self.loop.enter { self.stream?.finish(readingAtMost: 0) } }

    /// Has the newest GET end without an answer.
    func cutPoll() {
        self.loop.enter { self.loop.streams.last { $0.request.purpose == .get }?.finish(readingAtMost: 0) }
    }

    /// Has the server answer the newest POST.
    func answerPost(status: Int = 200) {
        self.loop.enter { self.loop.streams.last { $0.isPost }?.answer("ok", status: status) }
    }

    /// Has a client send an event, with the number of a request if it is one.
    @discardableResult
    func send(_ event: String, request: UInt64? = nil, by client: Client) -> SendAcceptance? {
        let message = OutboundMessage(event: event, payload: .empty, requestID: request)
        return self.loop.enter { client.link?.send(message) }
    }

    /// The index of a client's namespace in its session.
    func index(of client: Client) -> Int? { (client.link as? SocketIOLink)?.index }

    /// The engine of a client's open link.
    func engine(of client: Client) -> SocketIOEngine? { (client.link as? SocketIOLink)?.openEngine }

    /// Lets go of a client's link, as a connection does when it is released.
    func drop(_ client: Client) { client.link = nil }

    /// Ends a link.
    func end(_ client: Client, politely: Bool) {
        self.loop.enter { politely ? client.link?.close(code: nil, reason: "") : client.link?.abort() }
    }

    /// The text that the next link resumes from.
    func resumption(of client: Client) -> String? { self.loop.enter { client.link?.resumption?.exposed } }
}

/// A loop without a network: a test moves the clock and says when timers fire.
// Unchecked because it belongs to the one task of its test.
final class BenchLoop: NetworkLoop, @unchecked Sendable {
    private final class Timer: ScheduledWork, @unchecked Sendable {
        let delay: Duration
        var job: (@Sendable () -> Void)?

        init(_ delay: Duration, _ job: @escaping @Sendable () -> Void) { (self.delay, self.job) = (delay, job) }

        func cancel() { self.job = nil }
    }

    private var jobs: [@Sendable () -> Void] = []
    private var timers: [Timer] = []
    private(set) var streams: [BenchStream] = []
    private(set) var isCurrent = false
    /// Whether the server agrees to WebSockets.
    var upgrades = true
    /// The connections that the latest request could use.
    private(set) var kept: KeptConnections?
    /// The time on the loop.
    var now = ContinuousClock.now
    var moment: Moment { Moment(self.now) }

    /// The timers that were ever set.
    private(set) var timerCount = 0
    /// The timers that have neither fired nor been cancelled.
    var pendingTimers: Int { self.timers.count { $0.job != nil } }

    func execute(_ job: @escaping @Sendable () -> Void) { self.jobs.append(job) }

    func schedule(
        at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        self.timerCount += 1
        let timer = Timer(ContinuousClock.now.duration(to: instant), job)
        self.timers.append(timer)
        return timer
    }

    /// Does something on the loop, and then the jobs that it gives.
    func enter<Result>(_ body: () -> Result) -> Result {
        self.isCurrent = true
        defer { self.isCurrent = false }
        let result = body()
        while !self.jobs.isEmpty { self.jobs.removeFirst()() }
        return result
    }

    /// Has all timers fire that there are and were set for no longer than this, due or not.
    func fireTimers(within limit: Duration = .seconds(1_000_000)) {
        let timers = self.timers.filter { $0.delay <= limit }
        self.timers.removeAll { $0.delay <= limit }
        for timer in timers { self.enter { timer.job?() } }
    }

    func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream {
        let stream = BenchStream(request, loop: self, handler: handler)
        self.streams.append(stream)
        self.kept = kept
        if request.purpose == .upgrade, self.upgrades { self.executeLocally { stream.upgrade() } }
        return stream
    }

    func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        throw ByteStreamError(.unlistenable, "the bench has no ports")
    }

    func shutdown() {}
}

/// A stream whose other end is a test.
final class BenchStream: ByteStream {
    let request: StreamRequest
    private let loop: BenchLoop
    private var handler: (any ByteStreamHandler)?
    private var written: [UInt8] = []
    /// Bytes that arrived while nothing was read.
    private var unread: [UInt8] = []
    /// Bytes that count as not sent yet.
    var pendingBytes = 0
    var openingStage: OpeningStage?
    /// Whether the client has dropped it with what was not sent.
    private(set) var isAborted = false
    /// What the client has asked for: to pause reading, or to read on.
    private(set) var pauses: [Bool] = []

    fileprivate init(_ request: StreamRequest, loop: BenchLoop, handler: any ByteStreamHandler) {
        self.request = request
        self.loop = loop
        self.handler = handler
    }

    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard self.handler != nil else { return .refused }
        fill(&self.written)
        return self.pendingBytes > self.request.highWaterMark ? .acceptedAndFull : .accepted
    }

    func finish(readingAtMost limit: Int) { self.end(ByteStreamError(.closedByPeer, "ended by the test")) }

    func abort() {
        self.isAborted = true
        self.end(ByteStreamError(.closedByUs, "ended by the client"))
    }

    func setReadingPaused(_ isPaused: Bool) {
        self.pauses.append(isPaused)
        guard !isPaused, !self.unread.isEmpty else { return }
        self.loop.executeLocally {
            let unread = self.unread
            self.unread = []
            self.say(unread)
        }
    }

    fileprivate var isPost: Bool { if case .post = self.request.purpose { true } else { false } }

    /// The method of a request, and its body.
    fileprivate var summary: String {
        switch self.request.purpose {
        case .upgrade: "an upgrade"
        case .get: "GET"
        case .post(let body): "POST " + String(decoding: body, as: UTF8.self)
        }
    }

    /// The frames that the client has written.
    fileprivate var frames: [WebSocketSession.Event] {
        var session = WebSocketSession(role: .server, limits: WebSocketLimits())
        session.reportsPings = true
        session.receive(self.written[...])
        var output: [UInt8] = []
        return Array(sequence(state: ()) { _ in session.next(into: &output) })
    }

    func upgrade() {
        let request = self.request
        let answer = try? ServerHandshake().accept(method: "GET") { name in
            name == "host" ? [request.host] : request.headers.filter { $0.name.lowercased() == name }.map(\.value)
        }
        let fields = (answer?.headers ?? []).map { ($0.name.lowercased(), [$0.value]) }
        self.handler?.opened(ResponseHead(status: 101, fields: Dictionary(uniqueKeysWithValues: fields)))
    }

    fileprivate func say(_ bytes: [UInt8]) {
        if self.pauses.last == true { self.unread += bytes } else { self.handler?.received(bytes) }
    }

    /// Begins to answer a GET or a POST.
    fileprivate func begin(_ body: String, status: Int = 200, fields: [String: [String]] = [:]) {
        self.openingStage = nil
        self.handler?.opened(ResponseHead(status: status, fields: fields))
        self.handler?.received(Array(body.utf8))
    }

    /// Answers a GET or a POST.
    fileprivate func answer(_ body: String, status: Int = 200, fields: [String: [String]] = [:]) {
        self.begin(body, status: status, fields: fields)
        self.end(ByteStreamError(.completed, "answered"))
    }

    private func end(_ reason: ByteStreamError) {
        guard let handler = self.handler.take() else { return }
        self.loop.executeLocally { handler.closed(reason) }
    }
}
