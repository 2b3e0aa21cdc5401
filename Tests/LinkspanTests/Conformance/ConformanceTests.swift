internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Transport conformance", .timeLimit(.minutes(1)))
struct ConformanceTests {
    @Test(arguments: TransportConformance.Check.allCases)
    func `the in-memory transport conforms`(check: TransportConformance.Check) async throws {
        try await TransportConformance.run(check, over: InMemoryFixture())
    }

    @Test(arguments: TransportConformance.Check.allCases)
    func `the scripted transport conforms`(check: TransportConformance.Check) async throws {
        try await TransportConformance.run(check, over: ScriptedFixture())
    }

    @Test(arguments: [
        (LinkScript { $0.copiesOfMessages = 2 }, "keeps the order of events"),
        (.init { $0.rejects = { _ in LinkspanError(.messageTooLarge, "too large") } }, "carries large messages"),
        (.refusing(LinkspanError(.tlsFailed, "not trusted")), "opens once before anything else"),
        (.dropping(after: .zero), "reports losses"),
    ])
    func `a transport that breaks a promise is found out`(script: LinkScript, promise: String) async throws {
        let check = try #require(TransportConformance.Check.allCases.first { $0.description == promise })
        let fixture = try ScriptedFixture(script: script)
        await #expect(throws: ConformanceFailure.self) { try await TransportConformance.run(check, over: fixture) }
    }
}

extension ConformanceTests {
    @Test(arguments: [
        (Flaw.opensAgain, "opens once before anything else"), (.endsAgainLater, "refuses sends after the end"),
        (.endsAgainLater, "closes politely"), (.outlivesAbort, "aborts at any moment"),
        (.losesAnItem, "keeps the order of a flood"), (.swapsItems, "keeps the order of a flood"),
        (.swapsBlobs, "carries binary both ways"),
    ])
    func `a link with a flaw is found out`(flaw: Flaw, promise: String) async throws {
        let check = try #require(TransportConformance.Check.allCases.first { $0.description == promise })
        let fixture = FlawedFixture(inner: try ScriptedFixture(script: .perfect), flaw: flaw)
        await #expect(throws: ConformanceFailure.self) { try await TransportConformance.run(check, over: fixture) }
        try await TransportConformance.run(check, over: FlawedFixture(inner: fixture.inner, flaw: nil))
    }
}

/// A breach of the contract of links.
enum Flaw: Sendable {
    case opensAgain, endsAgainLater, outlivesAbort, losesAnItem, swapsItems, swapsBlobs
}

/// Scripted links with a flaw.
private struct FlawedFixture: TransportFixture {
    let inner: ScriptedFixture
    let flaw: Flaw?

    var request: LinkRequest { self.inner.request }

    func makeTransport() -> any Transport {
        FlawedTransport(inner: self.inner.makeTransport(), flaw: self.flaw, scheduler: self.inner.scheduler)
    }

    func passTime() { self.inner.passTime() }
}

private struct FlawedTransport: Transport {
    let inner: any Transport
    let flaw: Flaw?
    let scheduler: VirtualScheduler

    var name: String { self.inner.name }
    var schemes: Set<String> { self.inner.schemes }
    var executor: any JobExecutor { self.inner.executor }

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        let receiver = FlawedReceiver(
            inner: receiver, flaw: self.flaw, scheduler: self.scheduler, executor: self.executor)
        return FlawedLink(inner: self.inner.makeLink(request, receiver: receiver), receiver: receiver)
    }
}

private final class FlawedLink: Link {
    private let inner: any Link
    private let receiver: FlawedReceiver
    private var isOpen = false

    init(inner: any Link, receiver: FlawedReceiver) {
        self.inner = inner
        self.receiver = receiver
    }

    func open() {
        if self.isOpen, self.receiver.flaw == .opensAgain { self.receiver.later { [.opened(LinkInfo())] } }
        self.isOpen = true
        self.inner.open()
    }

    func send(_ message: OutboundMessage) -> SendAcceptance { self.inner.send(message) }
    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { self.inner.reply(to: id, with: payload) }
    func close(code: UInt16?, reason: String) { self.inner.close(code: code, reason: reason) }
    func abort() {
        if self.receiver.flaw == .outlivesAbort, self.receiver.hasHeard { return }
        self.inner.abort()
    }
}

private final class FlawedReceiver: LinkReceiver {
    let flaw: Flaw?
    private let inner: any LinkReceiver
    private let scheduler: VirtualScheduler
    private let executor: any JobExecutor
    private let heard = Lock(false)

    init(inner: any LinkReceiver, flaw: Flaw?, scheduler: VirtualScheduler, executor: any JobExecutor) {
        (self.inner, self.flaw, self.scheduler, self.executor) = (inner, flaw, scheduler, executor)
    }

    /// True once a message has come.
    var hasHeard: Bool { self.heard.withLock { $0 } }

    func later(_ events: @escaping @Sendable () -> [LinkEvent]) {
        _ = self.scheduler.schedule(at: self.scheduler.now + .milliseconds(1_500), on: self.executor) { [inner] in
            inner.receive(events())
        }
    }

    func receive(_ next: () -> LinkEvent?) {
        var events: [LinkEvent] = []
        while let event = next() { events.append(event) }
        let isMessage = events.contains { if case .message = $0 { true } else { false } }
        for case .closed(let error) in events where self.flaw == .endsAgainLater { self.later { [.closed(error)] } }
        if isMessage { self.heard.withLock { $0 = true } }
        self.inner.receive(events.compactMap(self.changed))
    }

    private func changed(_ event: LinkEvent) -> LinkEvent? {
        switch (event, self.flaw) {
        case (.message(let message), .losesAnItem) where message.payload[0]?["id"]?.int == 999: return nil
        case (.message(let message), .swapsItems) where message.payload[0]?["id"]?.int == 500:
            return .message(InboundMessage(event: message.event, payload: .json(#"{"id":501}"#)))
        case (.reply(let id, let payload), .swapsBlobs):
            return .reply(
                id: id, payload: Payload(trustedElements: payload.elements, attachments: payload.attachments.reversed())
            )
        default: return event
        }
    }
}

/// The contract over the in-memory hub.
private struct InMemoryFixture: TransportFixture {
    let request: LinkRequest
    let refusedRequest: LinkRequest?
    private let hub = InMemoryHub(executor: TestExecutor())

    init() throws {
        let url = try ConnectionURL("memory://conformance")
        self.request = LinkRequest(url: url, credentials: try Credentials(auth: ["name": "probe"]))
        self.refusedRequest = LinkRequest(url: url, credentials: try Credentials(auth: ["refuse": true]))
        self.hub.onConnect { (peer: HubPeer) throws(LinkspanError) in
            if peer.request.credentials.auth?[0]?["refuse"]?.bool == true {
                throw LinkspanError(.credentialsRefused, "refused as asked")
            }
            Self.serve(peer)
        }
    }

    func makeTransport() -> any Transport { InMemoryTransport(hub: self.hub) }

    private static func serve(_ peer: HubPeer) {
        peer.on("echo") { $0.peer.emit("echo", $0.payload) }
        peer.on("req") { $0.reply($0.payload) }
        peer.on("ask") { message in
            message.peer.ask("question", message.payload) { message.peer.emit("answered", $0) }
        }
        peer.on("binary3") { message in
            let blobs = Array(message.payload.values.compactMap(\.blob).reversed())
            let text = blobs.indices.map { #"{"_placeholder":true,"num":\#($0)}"# }.joined(separator: ",")
            let answer = Payload(trustedElements: Array(text.utf8)[...], attachments: blobs)
            message.peer.emit("binary3", answer)
            message.reply(answer)
        }
        peer.on("flood") { message in
            let count = message.payload[0]?["n"]?.int ?? 0
            let pad = String(repeating: "x", count: message.payload[0]?["bytes"]?.int ?? 0)
            for number in 0..<count { message.peer.emit("item", .json(#"{"id":\#(number),"pad":"\#(pad)"}"#)) }
            message.reply(.json("\(count)"))
        }
        peer.on("whoami") { message in
            let auth = message.peer.request.credentials.auth ?? .json("null")
            message.peer.emit("whoami", auth)
            message.reply(auth)
        }
        peer.on("kick") { $0.peer.disconnect() }
        peer.on("kill_engine") { $0.peer.disconnect(LinkspanError(.connectionLost, "the engine died")) }
    }
}

/// The contract over scripted links.
private struct ScriptedFixture: TransportFixture {
    let request: LinkRequest
    let refusedRequest: LinkRequest?
    let earlyRequest: LinkRequest?
    let scheduler = VirtualScheduler()
    private let transport: ScriptedTransport

    init(script: LinkScript = .delaying(by: .milliseconds(10))) throws {
        let url = try ConnectionURL("scripted://conformance")
        self.request = LinkRequest(url: url)
        self.refusedRequest = LinkRequest(url: url, credentials: try Credentials(auth: ["refuse": true]))
        self.earlyRequest = LinkRequest(url: url, credentials: try Credentials(auth: ["early": true]))
        self.transport = ScriptedTransport(scheduler: self.scheduler) { _ in script }
        self.transport.serveEcho()
    }

    func makeTransport() -> any Transport { self.transport }

    func passTime() { self.scheduler.advance(by: .seconds(1)) }
}
