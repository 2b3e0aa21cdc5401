internal import Foundation
internal import LinkspanKit
internal import LinkspanTesting
internal import Testing

// The example of the article "Write a transport", word for word.

/// Carries messages to a server in the same process.
struct LoopbackTransport: Transport {
    let name = "loopback"
    let schemes: Set<String> = ["loopback"]
    let executor: any JobExecutor = SystemScheduler.makeExecutor(label: "loopback")
    let server: any LoopbackServer

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        LoopbackLink(request: request, receiver: receiver, transport: self)
    }
}

/// The other end: admits clients and takes what they send.
protocol LoopbackServer: Sendable {
    func admit(_ credentials: Credentials, _ link: LoopbackLink) throws(LinkspanError)
    func receive(_ message: OutboundMessage, _ link: LoopbackLink)
    func receiveReply(to id: UInt64, _ payload: Payload, _ link: LoopbackLink)
}

final class LoopbackLink: Link {
    private enum State { case idle, opening, open, ended }

    let request: LinkRequest
    private let receiver: any LinkReceiver
    private let transport: LoopbackTransport
    private var loop: any JobExecutor { self.transport.executor }
    private var state = State.idle

    init(
        request: LinkRequest, receiver: any LinkReceiver, transport: LoopbackTransport
    ) {
        self.request = request
        self.receiver = receiver
        self.transport = transport
    }

    func open() {
        guard self.state == .idle else { return }
        self.state = .opening
        self.later {
            do throws(LinkspanError) {
                try self.transport.server.admit(self.request.credentials, self)
            } catch { return self.end(error) }
            guard self.state == .opening else { return }
            self.state = .open
            self.receiver.receive([.opened(LinkInfo())])
        }
    }

    func send(_ message: OutboundMessage) -> SendAcceptance {
        self.take { self.transport.server.receive(message, self) }
    }

    func reply(to id: UInt64, with payload: Payload) -> SendAcceptance {
        self.take { self.transport.server.receiveReply(to: id, payload, self) }
    }

    func close(code: UInt16?, reason: String) { self.later { self.abort() } }

    func abort() { self.end(LinkspanError(.connectionLost, "closed by the app")) }

    /// Hands events of the server to the client.
    func deliver(_ events: [LinkEvent]) { self.whileOpen { $0.receive(events) } }

    /// Ends the link behind everything that is under way.
    func finish(_ error: LinkspanError) { self.later { self.end(error) } }

    private func take(_ work: @escaping () -> Void) -> SendAcceptance {
        guard self.state == .open else { return .refused }
        self.whileOpen { _ in work() }
        return .accepted
    }

    private func whileOpen(_ work: @escaping (any LinkReceiver) -> Void) {
        self.later { if self.state == .open { work(self.receiver) } }
    }

    private func end(_ error: LinkspanError) {
        guard self.state != .ended else { return }
        self.state = .ended
        self.later { self.receiver.receive([.closed(error)]) }
    }

    private func later(_ job: @escaping () -> Void) { self.loop.executeLocally(job) }
}

extension Transport where Self == LoopbackTransport {
    static func loopback(_ server: some LoopbackServer) -> Self {
        Self(server: server)
    }
}

extension TransportFactory {
    static func loopback(_ server: some LoopbackServer) -> Self {
        Self("loopback", schemes: ["loopback"]) { _ in
            LoopbackTransport(server: server)
        }
    }
}

/// The peer that the suite asks for.
struct ContractServer: LoopbackServer {
    func admit(
        _ credentials: Credentials, _ link: LoopbackLink
    ) throws(LinkspanError) {
        if credentials.auth?[0]?["refuse"]?.bool == true {
            throw LinkspanError(.credentialsRefused, "not you")
        }
        guard credentials.auth?[0]?["early"]?.bool == true else { return }
        for number in 1...3 { self.emit("early", self.json("\(number)"), link) }
    }

    func receive(_ message: OutboundMessage, _ link: LoopbackLink) {
        let payload = message.payload
        switch message.event {
        case "echo": self.emit("echo", payload, link)
        case "req": self.answer(message, payload, link)
        case "ask":
            let question = InboundMessage(
                event: "question", payload: payload, replyID: 1)
            link.deliver([.message(question)])
        case "binary3":
            let turned = Payload(
                trustedElements: payload.elements,
                attachments: payload.attachments.reversed())
            self.emit("binary3", turned, link)
            self.answer(message, turned, link)
        case "flood":
            let count = payload[0]?["n"]?.int ?? 0
            let length = payload[0]?["bytes"]?.int ?? 0
            let pad = String(repeating: "x", count: length)
            for id in 0..<count {
                self.emit("item", self.json(#"{"id":\#(id),"pad":"\#(pad)"}"#), link)
            }
            self.answer(message, self.json("\(count)"), link)
        case "whoami":
            let auth = link.request.credentials.auth ?? self.json("null")
            self.emit("whoami", auth, link)
            self.answer(message, auth, link)
        case "kick":
            link.finish(LinkspanError(.closedByServer, "the server has had enough"))
        case "kill_engine": link.abort()
        default: ()
        }
    }

    func receiveReply(to id: UInt64, _ payload: Payload, _ link: LoopbackLink) {
        self.emit("answered", payload, link)
    }

    private func emit(_ event: String, _ payload: Payload, _ link: LoopbackLink) {
        link.deliver([.message(InboundMessage(event: event, payload: payload))])
    }

    private func answer(
        _ message: OutboundMessage, _ payload: Payload, _ link: LoopbackLink
    ) {
        if let id = message.requestID {
            link.deliver([.reply(id: id, payload: payload)])
        }
    }

    private func json(_ text: String) -> Payload {
        Payload(trustedElements: Array(text.utf8)[...])
    }
}

struct LoopbackFixture: TransportFixture {
    let request: LinkRequest
    let refusedRequest: LinkRequest?
    let earlyRequest: LinkRequest?

    init() throws {
        let url = try ConnectionURL("loopback://server")
        self.request = LinkRequest(
            url: url, credentials: try Credentials(auth: ["user": "ann"]))
        self.refusedRequest = LinkRequest(
            url: url, credentials: try Credentials(auth: ["refuse": true]))
        self.earlyRequest = LinkRequest(
            url: url, credentials: try Credentials(auth: ["early": true]))
    }

    func makeTransport() -> any Transport { .loopback(ContractServer()) }
}

@Suite("The article on transports", .timeLimit(.minutes(1)))
struct WriteATransportExample {
    @Test(arguments: TransportConformance.Check.allCases)
    func `the loopback conforms`(check: TransportConformance.Check) async throws {
        try await TransportConformance.run(check, over: LoopbackFixture())
    }

    @Test
    func `it takes at most 60 lines`() throws {
        let text = try String(contentsOfFile: #filePath, encoding: .utf8)
        let transport = try #require(text.components(separatedBy: "\nextension Transport ").first)
        let lines = transport.split(separator: "\n").filter { line in
            let code = line.drop { $0 == " " }
            return !code.isEmpty && !code.hasPrefix("//") && !code.hasPrefix("internal import")
        }
        // The server is the other end.
        let server = lines.drop { !$0.hasPrefix("protocol LoopbackServer") }.prefix { $0 != "}" }.count + 1
        #expect(lines.count - server <= 60)
    }

    @Test
    func `a connection over the loopback works`() async throws {
        let manager = ConnectionManager()
        let connection = try ConnectionBuilder("loopback://server")
            .transport(.loopback(ContractServer())).connect(by: manager)
        let reply = try await connection.request("req", "hello").decode(String.self)
        #expect(reply == "hello")
        await manager.shutdown()
    }
}
