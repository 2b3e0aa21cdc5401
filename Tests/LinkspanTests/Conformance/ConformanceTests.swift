internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanTesting
internal import Testing

@Suite("Transport conformance", .timeLimit(.minutes(1)))
struct ConformanceTests {
    @Test(arguments: TransportConformance.Check.allCases)
    func `the in-memory transport conforms`(check: TransportConformance.Check) async throws {
        await TransportConformance.run(check, over: try InMemoryFixture())
    }

    @Test(arguments: TransportConformance.Check.allCases)
    func `the scripted transport conforms`(check: TransportConformance.Check) async throws {
        await TransportConformance.run(check, over: try ScriptedFixture())
    }

    @Test(arguments: [
        (LinkScript { $0.copiesOfMessages = 2 }, "keeps the order of events"),
        (.init { $0.rejects = { _ in LinkspanError(.messageTooLarge, "too large") } }, "carries large messages"),
        (.refusing(LinkspanError(.tlsFailed, "not trusted")), "opens once before anything else"),
        (.dropping(after: .zero), "reports losses"),
    ])
    func `a transport that breaks a promise is found out`(script: LinkScript, promise: String) async throws {
        let check = try #require(TransportConformance.Check.allCases.first { $0.testDescription == promise })
        let fixture = try ScriptedFixture(script: script)
        await #expect(throws: ConformanceFailure.self) { try await TransportConformance.verify(check, over: fixture) }
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
    private let scheduler = VirtualScheduler()
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
