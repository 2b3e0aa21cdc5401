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
        func close() { self.call { $0.close(code: nil, reason: "") } }
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

        /// Sends on a link that may have ended.
        func sendAnyhow(_ event: String, _ payload: Payload) async throws(ConformanceFailure) {
            if case .rejected(let error) = await self.attempt(OutboundMessage(event: event, payload: payload)) {
                throw ConformanceFailure("'\(event)' was rejected: \(error)")
            }
        }
    }

    let fixture: any TransportFixture
    private let transport: any Transport
    private(set) var lines: [Line] = []

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
