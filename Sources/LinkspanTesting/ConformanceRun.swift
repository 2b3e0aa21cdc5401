internal import Linkspan
internal import LinkspanRuntime

/// One check under way: the links it has made, and the checks themselves.
final class ConformanceRun {
    /// A link and what it has delivered.
    ///
    /// As the core does, it calls the link on the transport's executor.
    struct Line: Sendable {
        let probe: LinkProbe
        private let link: Confined<any Link>
        private let executor: any JobExecutor

        init(link: any Link, probe: LinkProbe, executor: any JobExecutor) {
            self.probe = probe
            self.link = Confined(link, to: executor)
            self.executor = executor
        }

        func open() { self.call { $0.open() } }
        func close() { self.call { $0.close() } }
        func abort() { self.call { $0.abort() } }

        func call(_ body: @escaping @Sendable (any Link) -> Void) {
            self.executor.execute { self.probe.called { body(self.link.value) } }
        }

        func attempt(_ message: OutboundMessage) async -> SendAcceptance {
            await withUnsafeContinuation { continuation in
                self.call { continuation.resume(returning: $0.send(message)) }
            }
        }

        func send(_ event: String, _ payload: Payload = .empty, id: UInt64? = nil) async throws(ConformanceFailure) {
            let acceptance = await self.attempt(OutboundMessage(event: event, payload: payload, requestID: id))
            guard acceptance == .accepted || acceptance == .acceptedAndFull else {
                throw ConformanceFailure("'\(event)' was \(acceptance), although the link is open")
            }
        }
    }

    private let fixture: any TransportFixture
    private let transport: any Transport
    private var lines: [Line] = []

    init(fixture: any TransportFixture) {
        self.fixture = fixture
        self.transport = fixture.makeTransport()
    }

    func makeLine(_ request: LinkRequest? = nil) -> Line {
        let probe = LinkProbe(executor: self.transport.executor) { [fixture] in fixture.passTime() }
        let link = self.transport.makeLink(request ?? self.fixture.request, receiver: probe)
        let line = Line(link: link, probe: probe, executor: self.transport.executor)
        self.lines.append(line)
        return line
    }

    func openLine(_ request: LinkRequest? = nil) async throws(ConformanceFailure) -> Line {
        let line = self.makeLine(request)
        line.open()
        try await line.probe.wait(for: "opened or closed") { $0.isOpened || !$0.ends.isEmpty }
        if let error = line.probe.events.ends.first { throw ConformanceFailure("the link did not open: \(error)") }
        return line
    }

    /// Looks for broken promises, and ends what is left.
    func conclude() throws(ConformanceFailure) {
        for line in self.lines { line.abort() }
        self.fixture.passTime()
        if let violation = self.lines.flatMap(\.probe.violations).first { throw ConformanceFailure(violation) }
    }

    func expect(_ isTrue: Bool, _ otherwise: @autoclosure () -> String) throws(ConformanceFailure) {
        if !isTrue { throw ConformanceFailure(otherwise()) }
    }

    func expectEnd(
        of line: Line, _ what: String, where isRight: (LinkspanError) -> Bool
    ) async throws(ConformanceFailure) {
        let error = try await line.probe.end()
        try self.expect(isRight(error), "the link ended with \(error), but \(what) is due")
        try self.expect(line.probe.events.ends.count == 1, "the link ended more than once")
    }
}

// MARK: - Traffic

extension ConformanceRun {
    func opensOnceBeforeAnythingElse() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        line.open()
        try await line.send("echo", .text("1"))
        _ = try await line.probe.messages("echo")
    }

    func keepsTheOrderOfEvents() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        for number in 0..<1_000 { try await line.send("echo", .text("\(number)")) }
        let messages = try await line.probe.messages("echo", 1_000)
        try self.expect(messages.map(\.payload.text) == (0..<1_000).map { "\($0)" }, "the order was not kept")
    }

    func keepsTheOrderOfAFlood() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        try await line.send("flood", .text(#"{"n":1000,"bytes":100}"#), id: 0)
        let reply = try await line.probe.reply(to: 0)
        try self.expect(reply.text == "1000", "the reply is \(reply.text)")
        let items = line.probe.events.messages("item")
        try self.expect(items.count == 1_000, "\(items.count) of 1000 came before the reply behind them")
        let numbers = items.map { $0.payload[0]?["id"]?.int }
        try self.expect(numbers == Array(0..<1_000), "the order was not kept")
    }

    func bringsRepliesToRequests() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        for id in 0..<100 { try await line.send("req", .text("\(id),\"reply\""), id: UInt64(id)) }
        for id in 0..<100 {
            let reply = try await line.probe.reply(to: UInt64(id))
            try self.expect(reply.text == "\(id),\"reply\"", "request \(id) got the reply \(reply.text)")
        }
    }

    func takesAnswersToQuestions() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        line.probe.onEvent { event in
            guard case .message(let message) = event, message.event == "question", let id = message.replyID else {
                return
            }
            let answer = Payload.text("\"answer to \",\(message.payload.text)")
            line.call { $0.reply(to: id, with: answer) }
        }
        try await line.send("ask", .text("42"))
        let answered = try await line.probe.messages("answered")
        try self.expect(
            answered.first?.payload.text == "\"answer to \",42", "the answer arrived otherwise than it was given")
    }

    func carriesBinaryBothWays() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        let blobs: [ArraySlice<UInt8>] = [[1, 2, 3], Array(0...255)[...], Array(repeating: 0, count: 70_000)[...]]
        try await line.send("binary3", .blobs(blobs), id: 7)
        let reply = try await line.probe.reply(to: 7)
        try self.expect(reply.blobs == blobs.reversed(), "the reply's blobs are not those that are due")
        let message = try await line.probe.messages("binary3").first
        try self.expect(message?.payload.blobs == blobs.reversed(), "the event's blobs are not those that are due")
    }

    func carriesArgumentsUnchanged() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        let samples = [
            "", "null", "1,2,3", #""a","b""#, #"{"a":[1,{"b":null}]},[],{}"#, "\"\u{1F6A2} Zürich 渡し船\"",
            #""quote \" backslash \\ newline \n tab \t""#, "true,false,-1,1.5",
        ]
        for (id, sample) in samples.enumerated() {
            try await line.send("req", .text(sample), id: UInt64(id))
            let reply = try await line.probe.reply(to: UInt64(id))
            try self.expect(reply.isSame(as: .text(sample)), "\(sample) came back as \(reply.text)")
        }
    }

    func carriesLargeMessages() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        let text = "\"" + String(repeating: "0123456789abcdef", count: 1 << 16) + "\""
        try await line.send("req", .text(text), id: 0)
        let reply = try await line.probe.reply(to: 0)
        try self.expect(reply.text == text, "a text of 1 MiB came back changed")
        let blob = (0..<1 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }[...]
        try await line.send("binary3", .blobs([blob, [], [1]]), id: 1)
        let blobs = try await line.probe.reply(to: 1).blobs
        try self.expect(blobs == [[1], [], blob], "a blob of 1 MiB came back changed")
    }

    func keepsLinksApart() async throws(ConformanceFailure) {
        let one = try await self.openLine()
        let other = try await self.openLine()
        try await one.send("echo", .text("1"))
        try await other.send("echo", .text("2"))
        let fromOne = try await one.probe.messages("echo").map(\.payload.text)
        let fromOther = try await other.probe.messages("echo").map(\.payload.text)
        try self.expect(fromOne == ["1"] && fromOther == ["2"], "messages went to the wrong link")
        one.abort()
        _ = try await one.probe.end()
        try await other.send("echo", .text("3"))
        _ = try await other.probe.messages("echo", 2)
    }
}

// MARK: - Opening

extension ConformanceRun {
    func showsCredentials() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        try await line.send("whoami", id: 0)
        let reply = try await line.probe.reply(to: 0)
        let due = self.fixture.request.credentials.auth ?? .text("null")
        try self.expect(reply.isSame(as: due), "the server saw other credentials than were shown")
    }

    func reportsRefusedCredentials() async throws(ConformanceFailure) {
        guard let request = self.fixture.refusedRequest else { return }
        let line = self.makeLine(request)
        line.open()
        try await self.expectEnd(of: line, "credentialsRefused") { $0.code == .credentialsRefused }
        try self.expect(!line.probe.events.isOpened, "the link opened first")
    }

    func holdsEarlyEvents() async throws(ConformanceFailure) {
        guard let request = self.fixture.earlyRequest else { return }
        let line = self.makeLine(request)
        line.open()
        let early = try await line.probe.messages("early", 3)
        try self.expect(early.map(\.payload.text) == ["1", "2", "3"], "early events came in another order")
    }

    func reportsUnreachablePeers() async throws(ConformanceFailure) {
        guard let request = self.fixture.unreachableRequest else { return }
        let line = self.makeLine(request)
        line.open()
        try await self.expectEnd(of: line, "a code that allows another attempt") { !$0.isPermanent }
    }

    func refusesSendsBeforeOpening() async throws(ConformanceFailure) {
        let line = self.makeLine()
        let message = OutboundMessage(event: "echo", payload: .text("0"))
        let early = await line.attempt(message)
        try self.expect(early == .refused, "a send before open() was not refused")
        line.open()
        try await line.probe.wait(for: "opened") { $0.isOpened }
        try await line.send("echo", .text("1"))
        let echoes = try await line.probe.messages("echo").map(\.payload.text)
        try self.expect(echoes == ["1"], "a refused message was sent after all")
    }
}

// MARK: - Ending

extension ConformanceRun {
    func closesPolitely() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        line.close()
        line.close()
        line.abort()
        try await self.expectEnd(of: line, "connectionLost") { !$0.isPermanent }
    }

    func abortsAtAnyMoment() async throws(ConformanceFailure) {
        let early = self.makeLine()
        early.abort()
        early.open()
        _ = try await early.probe.end()
        try self.expect(!early.probe.events.isOpened, "an aborted link opened")

        let opening = self.makeLine()
        opening.open()
        opening.abort()
        _ = try await opening.probe.end()

        let inside = self.makeLine()
        inside.probe.onEvent { event in
            if case .opened = event { inside.abort() }
        }
        inside.open()
        _ = try await inside.probe.end()

        for count in [1, 10, 100] {
            let line = try await self.openLine()
            line.probe.onEvent { event in
                if case .message = event { line.abort() }
            }
            for number in 0..<count { try await line.sendAnyhow("echo", .text("\(number)")) }
            _ = try await line.probe.end()
        }
        self.fixture.passTime()
        for line in self.lines {
            try self.expect(line.probe.events.ends.count == 1, "a link ended more than once")
        }
    }

    func refusesSendsAfterTheEnd() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        line.abort()
        _ = try await line.probe.end()
        let acceptance = await line.attempt(OutboundMessage(event: "echo", payload: .text("0"), requestID: 0))
        try self.expect(acceptance == .refused, "a send after the end was \(acceptance)")
        line.call { $0.reply(to: 1, with: .empty) }
        line.abort()
        line.close()
        self.fixture.passTime()
        try self.expect(line.probe.events.ends.count == 1, "the link ended more than once")
    }

    func reportsKicks() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        try await line.send("kick")
        let tellsKicks = self.fixture.tellsKicks
        try await self.expectEnd(of: line, "closedByServer") { !tellsKicks || $0.code == .closedByServer }
    }

    func reportsLosses() async throws(ConformanceFailure) {
        let line = try await self.openLine()
        try await line.send("kill_engine")
        try await self.expectEnd(of: line, "a code that allows another attempt") { !$0.isPermanent }
    }
}

extension ConformanceRun.Line {
    /// Sends on a link that may have ended.
    fileprivate func sendAnyhow(_ event: String, _ payload: Payload) async throws(ConformanceFailure) {
        if case .rejected(let error) = await self.attempt(OutboundMessage(event: event, payload: payload)) {
            throw ConformanceFailure("'\(event)' was rejected: \(error)")
        }
    }
}

extension Payload {
    /// Arguments as JSON text.
    static func text(_ json: String) -> Payload { Payload(trustedElements: Array(json.utf8)[...]) }

    /// Arguments that are blobs.
    static func blobs(_ blobs: [ArraySlice<UInt8>]) -> Payload {
        let placeholders = blobs.indices.map { #"{"_placeholder":true,"num":\#($0)}"# }
        return Payload(trustedElements: Array(placeholders.joined(separator: ",").utf8)[...], attachments: blobs)
    }

    var text: String { String(decoding: self.elements, as: UTF8.self) }

    /// The arguments that are blobs.
    var blobs: [ArraySlice<UInt8>] { self.values.compactMap(\.blob) }

    /// Whether two payloads mean the same, however they are written.
    func isSame(as other: Payload) -> Bool {
        let (mine, others) = (self.values, other.values)
        return mine.count == others.count && zip(mine, others).allSatisfy { $0.isSame(as: $1) }
    }
}

extension PayloadValue {
    fileprivate func isSame(as other: PayloadValue) -> Bool {
        if let text = self.string { return text == other.string }
        return self.text.filter { $0 != 0x20 } == other.text.filter { $0 != 0x20 }
    }
}
