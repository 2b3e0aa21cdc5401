internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// A loop without a network: a test says what servers answer, and when jobs and timers run.
///
/// As in a process that was suspended, time may pass without any timer having fired.
// Unchecked because it belongs to the one task of its test.
final class ScriptedLoop: NetworkLoop, @unchecked Sendable {
    private final class Timer: ScheduledWork, @unchecked Sendable {
        let instant: ContinuousClock.Instant
        var job: (@Sendable () -> Void)?

        init(_ instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void) {
            self.instant = instant
            self.job = job
        }

        func cancel() { self.job = nil }
    }

    private var jobs: [@Sendable () -> Void] = []
    private var timers: [Timer] = []
    private(set) var isCurrent = false
    /// The time on the loop, which only a test moves.
    private(set) var now = ContinuousClock.now
    var moment: Moment { Moment(self.now) }
    private let onConnect: (StreamRequest, ScriptedStream) -> Void

    /// Makes a loop whose servers do with each request what `onConnect` does, in a job of its own.
    init(_ onConnect: @escaping (StreamRequest, ScriptedStream) -> Void) { self.onConnect = onConnect }

    func execute(_ job: @escaping @Sendable () -> Void) { self.jobs.append(job) }

    func schedule(
        at instant: ContinuousClock.Instant, _ job: @escaping @Sendable () -> Void
    ) -> any ScheduledWork {
        let timer = Timer(instant, job)
        self.timers.append(timer)
        return timer
    }

    /// Does something on the loop, and nothing else.
    func enter<Result>(_ body: () -> Result) -> Result {
        self.isCurrent = true
        defer { self.isCurrent = false }
        return body()
    }

    /// Lets time pass in which nothing on the loop runs, timers included.
    func suspend(for duration: Duration) { self.now += duration }

    /// Runs the jobs there are, and those that they give.
    func run() { while !self.jobs.isEmpty { self.enter(self.jobs.removeFirst()) } }

    /// The number of timers that there are, those that were cancelled included.
    var timerCount: Int { self.timers.count }

    /// The times of the timers that there are, those that were cancelled left out.
    var timerInstants: [ContinuousClock.Instant] { self.timers.filter { $0.job != nil }.map(\.instant) }

    /// Has timers fire, due or not: all that there are, or so many of the oldest.
    func fireTimers(first count: Int = .max) {
        let timers = self.timers.prefix(count)
        self.timers.removeFirst(timers.count)
        for timer in timers {
            self.enter { timer.job?() }
            self.run()
        }
    }

    func connect(
        _ request: StreamRequest, handler: any ByteStreamHandler, over kept: KeptConnections?
    ) -> any ByteStream {
        let stream = ScriptedStream(loop: self, handler: handler, highWaterMark: request.highWaterMark)
        self.executeLocally { self.onConnect(request, stream) }
        return stream
    }

    func listen(
        _ request: ListenRequest, accept: @escaping (any ByteStream) -> (any ByteStreamHandler)?
    ) throws(ByteStreamError) -> any ByteListener {
        throw ByteStreamError(.unlistenable, "a scripted loop has no ports")
    }

    func shutdown() {}
}

/// A stream whose other end is a test.
final class ScriptedStream: ByteStream {
    private let loop: ScriptedLoop
    private let highWaterMark: Int
    private var handler: (any ByteStreamHandler)?
    /// What was written, by call.
    private(set) var writes: [[UInt8]] = []
    private var isPaused = false
    /// What the server has said while nothing was read.
    private var unread: [UInt8] = []

    fileprivate init(loop: ScriptedLoop, handler: any ByteStreamHandler, highWaterMark: Int) {
        self.highWaterMark = highWaterMark
        self.loop = loop
        self.handler = handler
    }

    /// The bytes that count as not sent yet.
    var pendingBytes = 0

    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance {
        guard self.handler != nil else { return .refused }
        var bytes: [UInt8] = []
        fill(&bytes)
        self.writes.append(bytes)
        return self.pendingBytes > self.highWaterMark ? .acceptedAndFull : .accepted
    }

    func finish(readingAtMost limit: Int) { self.end(ByteStreamError(.closedByPeer, "ended by the test")) }

    func abort() { self.end(ByteStreamError(.closedByUs, "ended by the client")) }

    func setReadingPaused(_ isPaused: Bool) {
        self.isPaused = isPaused
        guard !isPaused, !self.unread.isEmpty else { return }
        self.loop.executeLocally {
            guard !self.isPaused, !self.unread.isEmpty else { return }
            let bytes = self.unread
            self.unread = []
            self.say(bytes)
        }
    }

    // MARK: The server's side, on the loop

    func open(_ head: ResponseHead) { self.handler?.opened(head) }

    func say(_ bytes: [UInt8]) {
        if self.isPaused || !self.unread.isEmpty { self.unread += bytes } else { self.handler?.received(bytes) }
    }

    /// Reports that all that was written has been sent.
    func drain() { self.handler?.writable() }

    func end(_ reason: ByteStreamError) {
        guard let handler = self.handler.take() else { return }
        self.loop.executeLocally { handler.closed(reason) }
    }

    /// Agrees to a WebSocket, and to compression if it is offered.
    ///
    /// - Returns: the server's end.
    func upgrade(_ request: StreamRequest) throws -> WebSocketSession {
        let answer = try ServerHandshake().accept(method: "GET") { name in
            name == "host" ? [request.host] : request.headers.filter { $0.name.lowercased() == name }.map(\.value)
        }
        var fields = answer.headers.map { ($0.name.lowercased(), [$0.value]) }
        let isCompressed = request.headers.contains { $0.name == "Sec-WebSocket-Extensions" }
        if isCompressed { fields.append(("sec-websocket-extensions", ["permessage-deflate"])) }
        self.open(ResponseHead(status: answer.status, fields: Dictionary(uniqueKeysWithValues: fields)))
        return WebSocketSession(role: .server, compression: isCompressed ? CompressionAgreement(.init()) : nil)
    }

    /// Answers a GET or a POST.
    func answer(_ body: String) {
        self.open(ResponseHead(status: 200))
        self.say(Array(body.utf8))
        self.end(ByteStreamError(.completed, "answered"))
    }
}
