internal import Dispatch
internal import Linkspan
internal import LinkspanRuntime
internal import Testing

@testable internal import LinkspanNetwork

/// A connection whose system is the test: what the stream asks of it is noted.
private final class BenchConnection: StreamConnection {
    weak var stream: LoopStream?
    /// The calls of the stream, in order: `open` with the address, `carry`, `read`, `pause`, `flush`, `end` or `close`.
    private(set) var calls: [String] = []
    private(set) var sent: [UInt8] = []
    /// The number of bytes that the system takes.
    var room = Int.max
    var isBroken = false

    init(_ stream: LoopStream?) { self.stream = stream }

    func open(_ address: StreamAddress) { self.calls.append("open \(address)") }
    func openingStage(_ peer: OpeningStage.Peer) -> OpeningStage { .tls }
    func setReading(_ isReading: Bool) { self.calls.append(isReading ? "read" : "pause") }
    func endWriting() { self.calls.append("end") }
    func close() { self.calls.append("close") }

    func carry(_ stream: LoopStream) {
        self.calls.append("carry")
        self.stream = stream
    }

    func flush() -> Bool {
        self.calls.append("flush")
        guard !self.isBroken else { return false }
        var count = 0
        self.stream?.withNextBytes { bytes in
            count = min(bytes.count, self.room)
            self.sent += bytes.prefix(count)
        }
        self.room -= count
        self.stream?.sent(count)
        return true
    }
}

/// A stream whose loop, connections and handler are the test.
// Unchecked because it belongs to the one task of its test.
private final class StreamBench: ByteStreamHandler, @unchecked Sendable {
    let loop = ManualLoop()
    private let members: LoopMembers
    /// The latest stream, which its loop keeps.
    private(set) weak var stream: LoopStream?
    private(set) var connections: [BenchConnection] = []
    /// The calls of the handler, in order: `opened` with the status, `received` with the text, `writable`, `closed` with the code.
    private(set) var events: [String] = []
    /// Called within each event.
    var within: (LoopStream) -> Void = { _ in }

    var latest: BenchConnection { self.connections[self.connections.count - 1] }

    init(_ resolver: Resolver? = nil) { self.members = LoopMembers(loop: self.loop, resolver: resolver) }

    /// Does something with the stream, and then all that is due in this turn.
    func enter(_ body: (LoopStream) -> Void = { _ in }) {
        self.loop.enter { if let stream = self.stream { body(stream) } }
        while self.members.isFlushDue { self.loop.enter { self.members.flush() } }
    }

    func advance(by duration: Duration) {
        self.loop.advance(by: duration)
        self.enter()
    }

    /// Writes; returns what became of it.
    @discardableResult
    func write(_ text: String) -> SendAcceptance {
        var acceptance = SendAcceptance.refused
        self.enter { acceptance = $0.write { $0 += text.utf8 } }
        return acceptance
    }

    /// Has the loop end.
    func stop() { self.loop.enter { self.members.stop() } }

    /// Begins a request.
    func connect(
        for purpose: StreamRequest.Purpose = .upgrade, to host: String = "192.0.2.1", over kept: KeptConnections? = nil,
        _ change: (inout StreamRequest) -> Void = { _ in }
    ) {
        var request = StreamRequest(host: host, port: 80, isSecure: false)
        request.purpose = purpose
        change(&request)
        self.loop.enter {
            self.stream = LoopStream.connect(request, handler: self, over: kept, among: self.members) {
                { stream in
                    self.connections.append(BenchConnection(stream))
                    return self.latest
                }
            }
        }
        self.enter()
    }

    /// The connection is there, and sends the request.
    func reach() {
        self.enter { stream in
            stream.reached(self.latest)
            if stream.sendsRequest(self.latest) { stream.opened(self.latest) }
        }
    }

    func say(_ text: String) { self.enter { $0.received(Array(text.utf8)) } }

    /// Begins a request and has it answered.
    func open(
        for purpose: StreamRequest.Purpose = .upgrade, over kept: KeptConnections? = nil, answer: String,
        _ change: (inout StreamRequest) -> Void = { _ in }
    ) {
        self.connect(for: purpose, over: kept, change)
        self.reach()
        self.say(answer)
    }

    /// Serves a connection that came in.
    func serve(_ before: (LoopStream) -> Void = { _ in }) {
        self.loop.enter {
            let stream = LoopStream(acceptedFrom: nil, among: self.members)
            self.stream = stream
            self.connections.append(BenchConnection(stream))
            before(stream)
            stream.serve(self.latest, handler: self)
        }
        self.enter()
    }

    func opened(_ head: ResponseHead) { self.note("opened \(head.status)") }
    func received(_ bytes: [UInt8]) { self.note("received \(String(decoding: bytes, as: UTF8.self))") }
    func writable() { self.note("writable") }
    func closed(_ reason: ByteStreamError) { self.note("closed \(reason.code)") }

    private func note(_ event: String) {
        self.events.append(event)
        if let stream = self.stream { self.within(stream) }
    }
}

@Suite("A stream of a loop")
struct LoopStreamTests {
    private static let upgraded =
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    private static let kept = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n"
    private static let endless = "HTTP/1.1 200 OK\r\n\r\n"

    /// A resolver that finds these addresses of each name.
    private static func resolver(_ addresses: [String]) -> Resolver { Resolver { _, _ in .success(addresses) } }

    // MARK: Deadlines

    @Test
    func `an upgrade has a minute at most, and an exchange half an hour`() {
        let (upgrade, exchange) = (StreamBench(), StreamBench())
        upgrade.connect { $0.deadline = .seconds(86_400) }
        exchange.connect(for: .get) { $0.deadline = .seconds(86_400) }
        for bench in [upgrade, exchange] { bench.advance(by: .seconds(59)) }
        #expect(upgrade.events.isEmpty && exchange.events.isEmpty)
        for bench in [upgrade, exchange] { bench.advance(by: .seconds(1)) }
        #expect(upgrade.events == ["closed timedOut"] && exchange.events.isEmpty)
        exchange.advance(by: .seconds(1_740))
        #expect(exchange.events == ["closed timedOut"])
    }

    @Test
    func `the deadline of an exchange restarts when enough of the answer has come`() {
        let bench = StreamBench()
        bench.open(for: .get, answer: Self.endless) { $0.deadline = .seconds(10) }
        bench.say(String(repeating: "a", count: StreamStateMachine.exchangeProgress))
        bench.advance(by: .seconds(10))
        #expect(bench.events.count == 2)
        bench.advance(by: .seconds(10))
        #expect(bench.events.last == "closed timedOut" && bench.events.count == 3)
    }

    @Test
    func `nothing is due of a stream that is open, or has ended`() async {
        let (open, ended) = (await Self.race(), await Self.race())
        open.reach()
        open.say(Self.upgraded)
        ended.enter { $0.abort() }
        #expect(open.events == ["opened 101"] && open.loop.timerCount == 0)
        #expect(ended.events == ["closed closedByUs"] && ended.loop.timerCount == 0)
    }

    // MARK: Dialing

    @Test(arguments: ["192.0.2.1", "::1", "[::1]"])
    func `a numeric address is not looked up`(_ host: String) {
        let bench = StreamBench(Resolver { _, _ in .failure(ByteStreamError(.nameNotResolved, "looked up")) })
        bench.connect(to: host)
        #expect(bench.connections.count == 1 && bench.events.isEmpty)
    }

    @Test
    func `a proxy is dialed in place of the server`() {
        let bench = StreamBench()
        bench.connect(to: "192.0.2.1") { $0.proxy = NetworkProxy(.http, host: "192.0.2.2", port: 3_128) }
        #expect(bench.latest.calls == ["open \(StreamAddress.host("192.0.2.2", port: 3_128))"])
    }

    /// Begins a request to a name of three addresses, the first of which is dialed.
    private static func race() async -> StreamBench {
        let bench = StreamBench(self.resolver(["192.0.2.1", "192.0.2.2", "192.0.2.3"]))
        bench.connect(to: "a.example") { $0.deadline = .seconds(60) }
        while bench.connections.isEmpty, !Task.isCancelled {
            await bench.loop.job()
            bench.enter()
        }
        return bench
    }

    @Test
    func `the delay before the next address begins with the one before, and there is none behind the last`() async {
        let bench = await Self.race()
        bench.advance(by: .milliseconds(100))
        bench.enter { $0.failed(bench.latest, .hangUp) }
        #expect(bench.connections.count == 2)
        bench.advance(by: .milliseconds(150))
        #expect(bench.connections.count == 2)
        bench.advance(by: .milliseconds(100))
        #expect(bench.connections.count == 3)
        #expect(bench.loop.timerCount == 1, "the deadline")
    }

    @Test
    func `the first to be reached wins: others are closed, and no other is dialed`() async {
        let bench = await Self.race()
        bench.enter { $0.failed(bench.latest, .hangUp) }
        bench.advance(by: StreamStateMachine.attemptDelay)
        let (failed, winner, loser) = (bench.connections[0], bench.connections[1], bench.connections[2])
        var sends: [Bool] = []
        bench.enter { stream in
            stream.reached(winner)
            sends = [stream.sendsRequest(loser), stream.sendsRequest(winner)]
        }
        #expect(sends == [false, true])
        #expect(loser.calls.last == "close")
        #expect(failed.calls.count == 1 && winner.calls.count == 1)
        bench.enter { $0.abort() }
        #expect(winner.calls.count == 2 && loser.calls.count == 2, "each is closed once")
        #expect(bench.loop.timerCount == 0)
    }

    @Test
    func `an address whose turn comes when another has answered is not dialed`() async {
        let bench = await Self.race()
        bench.advance(by: StreamStateMachine.attemptDelay)
        bench.enter { stream in
            stream.failed(bench.connections[1], .hangUp)
            stream.reached(bench.connections[0])
        }
        #expect(bench.connections.count == 2 && bench.loop.timerCount == 1)
    }

    @Test
    func `a connection that failed is let go of, and the next address is dialed`() async {
        let bench = await Self.race()
        let first = bench.latest
        bench.enter { stream in
            stream.reached(first)
            #expect(stream.openingStage == .tls)
            stream.failed(first, .hangUp)
        }
        bench.enter { #expect($0.openingStage == .connecting(.server)) }
        #expect(bench.connections.count == 2)
        bench.enter { $0.abort() }
        #expect(first.calls.count == 1, "a connection that failed is not closed")
    }

    @Test
    func `a stream that is given up closes what is dialed, and is let go of`() async {
        let bench = await Self.race()
        bench.advance(by: StreamStateMachine.attemptDelay)
        bench.enter { $0.abort() }
        #expect(bench.connections.map(\.calls.last) == ["close", "close"])
        #expect(bench.loop.timerCount == 0 && bench.stream == nil)
    }

    @Test
    func `a stream that is given up while its name is looked up is let go of at once`() {
        let isOver = DispatchSemaphore(value: 0)
        defer { isOver.signal() }
        let bench = StreamBench(
            Resolver { _, _ in
                isOver.wait()
                return .success([])
            })
        bench.connect(to: "a.example")
        bench.enter { $0.abort() }
        #expect(bench.events == ["closed closedByUs"] && bench.stream == nil)
    }

    // MARK: Sending

    @Test
    func `what was written before the answer is sent behind it`() {
        let bench = StreamBench()
        bench.connect()
        bench.write("early")
        bench.reach()
        #expect(bench.latest.sent.isEmpty)
        bench.say(Self.upgraded)
        #expect(bench.latest.sent == Array("early".utf8))
    }

    @Test
    func `nothing is flushed without bytes, and the rest is when some have been sent later`() {
        let bench = StreamBench()
        bench.serve()
        #expect(bench.latest.calls == ["read"])
        bench.latest.room = 0
        bench.write("abc")
        #expect(bench.latest.calls == ["read", "flush"])
        bench.enter { $0.sentLater(1) }
        #expect(bench.latest.calls == ["read", "flush", "flush"])
        bench.enter { $0.sentLater(2) }
        #expect(bench.latest.calls.count == 3)
    }

    @Test
    func `a connection that takes no more bytes drops what waits, and is heard although reading is paused`() {
        let bench = StreamBench()
        bench.open(for: .get, answer: Self.endless)
        bench.enter { $0.setReadingPaused(true) }
        bench.say("held")
        bench.latest.isBroken = true
        bench.write("lost")
        bench.enter { #expect($0.pendingBytes == 0) }
        #expect(bench.write("late") == .refused)
        bench.say(", last")
        #expect(bench.events == ["opened 200", "received held, last"])
    }

    // MARK: Reading

    @Test
    func `an accepted stream reads from the start, unless its owner has paused it before`() {
        let (bench, paused) = (StreamBench(), StreamBench())
        bench.serve()
        paused.serve { $0.setReadingPaused(true) }
        #expect(bench.latest.calls == ["read"] && paused.latest.calls == ["pause"])
        paused.enter { $0.setReadingPaused(true) }
        #expect(paused.latest.calls == ["pause"])
    }

    @Test
    func `a stream that was paused before it opened stays so`() {
        let bench = StreamBench()
        bench.connect()
        bench.reach()
        bench.enter { $0.setReadingPaused(true) }
        #expect(bench.latest.calls.last == "read", "the answer is read")
        bench.say(Self.upgraded)
        #expect(bench.latest.calls.last == "pause")
    }

    @Test
    func `bytes that came before the pause follow when reading goes on, in a turn of their own`() {
        let bench = StreamBench()
        bench.within = { $0.setReadingPaused(true) }
        bench.open(answer: Self.upgraded + "first")
        #expect(bench.events == ["opened 101"])
        bench.within = { _ in }
        bench.enter { stream in
            stream.setReadingPaused(false)
            #expect(bench.events.count == 1)
        }
        #expect(bench.events == ["opened 101", "received first"])
        bench.say("second")
        #expect(bench.events.last == "received second")
    }

    @Test(arguments: [(false, "closed completed"), (true, "closed closedByPeer")])
    func `the end of a connection follows the bytes that a pause holds back`(isCut: Bool, end: String) {
        let bench = StreamBench()
        bench.open(for: .get, answer: Self.endless)
        bench.enter { $0.setReadingPaused(true) }
        bench.say("last")
        bench.enter { $0.closed(isCut: isCut) }
        #expect(bench.events == ["opened 200"])
        bench.enter { $0.setReadingPaused(false) }
        #expect(bench.events == ["opened 200", "received last", end])
    }

    @Test
    func `a pause between two held pieces does not lose the end behind them`() {
        let bench = StreamBench()
        bench.open(for: .get, answer: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        bench.enter { $0.setReadingPaused(true) }
        bench.say("2\r\nab\r\n2\r\ncd\r\n")
        bench.enter { $0.closed(isCut: false) }
        bench.within = { $0.setReadingPaused(true) }
        bench.enter { $0.setReadingPaused(false) }
        #expect(bench.events == ["opened 200", "received ab"])
        bench.enter { $0.setReadingPaused(false) }
        bench.enter { $0.setReadingPaused(false) }
        #expect(bench.events == ["opened 200", "received ab", "received cd", "closed closedByPeer"])
    }

    @Test
    func `what a broken connection has brought is heard with its end, although reading is paused`() {
        let bench = StreamBench()
        bench.open(for: .get, answer: Self.endless)
        bench.enter { $0.setReadingPaused(true) }
        bench.say("last")
        bench.enter { stream in
            stream.broken()
            stream.closed(isCut: true)
        }
        #expect(bench.events == ["opened 200", "received last", "closed closedByPeer"])
    }

    // MARK: Ending

    @Test
    func `a stream that is finished sends what waits, reads as much as it may, and ignores a pause`() {
        let bench = StreamBench()
        bench.serve { $0.setReadingPaused(true) }
        bench.latest.room = 2
        bench.enter { stream in
            _ = stream.write { $0 += "abc".utf8 }
            stream.finish(readingAtMost: 5)
        }
        #expect(bench.latest.calls == ["pause", "read", "flush"])
        #expect(bench.write("d") == .refused)
        bench.enter { $0.setReadingPaused(true) }
        bench.say("12345")
        #expect(!bench.latest.calls.contains("end") && bench.latest.calls.filter { $0 == "pause" }.count == 1)
        bench.latest.room = 1
        bench.enter { $0.flush() }
        #expect(bench.latest.calls.last == "end" && bench.events.isEmpty)
        bench.say("6")
        #expect(bench.events == ["closed closedByUs"])
    }

    @Test
    func `a stream that is finished with nothing to send says so at once, and ends after five seconds`() {
        let bench = StreamBench()
        bench.open(for: .get, answer: Self.endless) { $0.deadline = .seconds(2) }
        bench.enter { $0.finish(readingAtMost: 5) }
        #expect(bench.latest.calls.last == "end")
        bench.advance(by: .seconds(2))
        #expect(bench.events == ["opened 200"])
        bench.advance(by: .seconds(3))
        #expect(bench.events == ["opened 200", "closed closedByUs"])
    }

    @Test
    func `a stream that has ended takes no bytes, closes its connection once, and is let go of`() {
        let bench = StreamBench()
        bench.serve()
        do {
            let stream = bench.stream
            bench.enter { $0.abort() }
            bench.loop.enter { if let stream { #expect(stream.write { $0 += "late".utf8 } == .refused) } }
        }
        #expect(bench.latest.calls == ["read", "close"] && bench.events == ["closed closedByUs"])
        #expect(bench.stream == nil)
    }

    // MARK: Connections that are kept

    @Test
    func `a kept connection carries the next request, head and body, and lets go of the stream before`() {
        let (bench, kept) = (StreamBench(), KeptConnections())
        bench.open(for: .get, over: kept, answer: Self.kept + "1")
        #expect(bench.events == ["opened 200", "received 1", "closed completed"])
        #expect(kept.count == 1 && bench.loop.timerCount == 1, "the limit of its idle time")
        weak let former = bench.stream
        bench.connect(for: .post([7]), over: kept)
        #expect(former == nil && kept.count == 0)
        #expect(bench.connections.count == 1 && bench.loop.timerCount == 1, "the deadline")
        #expect(bench.latest.sent.starts(with: "POST / HTTP/1.1".utf8) && bench.latest.sent.last == 7)
        bench.say(Self.kept + "2")
        #expect(bench.events.last == "closed completed" && kept.count == 1)
        #expect(!bench.latest.calls.contains("close"))
    }

    @Test(arguments: ["bytes", "end", "failure", "time", "loop", "owner"])
    func `a kept connection is closed and forgotten at`(_ event: String) {
        let (bench, kept) = (StreamBench(), KeptConnections(idleLimit: .seconds(3)))
        bench.open(for: .get, over: kept, answer: Self.kept + "1")
        #expect(kept.count == 1 && bench.latest.calls.last != "close")
        switch event {
        case "bytes": bench.say("HTTP/1.1")
        case "end": bench.enter { $0.closed(isCut: false) }
        case "failure": bench.enter { $0.failed(bench.latest, .hangUp) }
        case "time": bench.advance(by: .seconds(3))
        case "loop": bench.stop()
        default: bench.loop.enter { kept.close() }
        }
        #expect(kept.count == 0 && bench.stream == nil && bench.loop.timerCount == 0)
        #expect(event == "failure" || bench.latest.calls.last == "close")
        #expect(bench.events.count == 3)
    }

    @Test
    func `a connection is not kept when the answer says no, is a refusal, or is followed by more`() {
        let refusal = "HTTP/1.1 404 Not Found\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n1"
        for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n1", refusal, Self.kept + "12"] {
            let (bench, kept) = (StreamBench(), KeptConnections())
            bench.open(for: .get, over: kept, answer: answer)
            #expect(bench.events.last == "closed completed" && kept.count == 0)
            #expect(bench.latest.calls.last == "close" && bench.stream == nil)
        }
    }

    @Test(arguments: ["broken", "unsent", "ended"])
    func `a connection is not kept that is`(_ state: String) {
        let (bench, kept) = (StreamBench(), KeptConnections())
        bench.connect(for: .post([1, 2]), over: kept)
        if state == "unsent" { bench.latest.room = 1 }
        bench.reach()
        bench.say(Self.kept)
        bench.enter { $0.setReadingPaused(true) }
        bench.say("1")
        if state == "broken" { bench.enter { $0.broken() } }
        if state == "ended" { bench.enter { $0.closed(isCut: false) } }
        bench.enter { $0.setReadingPaused(false) }
        #expect(bench.events == ["opened 200", "received 1", "closed completed"])
        #expect(kept.count == 0 && bench.latest.calls.last == "close")
    }
}
