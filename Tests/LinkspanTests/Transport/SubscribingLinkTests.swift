@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

/// Links whose servers send only what was subscribed to, acknowledge deliveries and refuse single messages.
@Suite(.timeLimit(.minutes(1)))
struct SubscribingLinkTests {
    /// A server that writes down what it gets and says what a test wants.
    private final class Server: Transport {
        let name = "subscribing"
        let schemes: Set<String> = ["subscribing", "plain"]
        let executor: any JobExecutor
        let heard = Journal<String>("what the server gets")
        let links: Confined<[SubscribingLink]>
        /// The nodes that the server names.
        let endpoints: [ConnectionURL]
        let sendsKeys: Bool

        init(_ scheduler: VirtualScheduler, endpoints: [ConnectionURL] = [], sendsKeys: Bool = false) {
            self.sendsKeys = sendsKeys
            self.executor = scheduler.executor
            self.links = Confined([], to: scheduler.executor)
            self.endpoints = endpoints
        }

        func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
            self.heard.append("open \(request.url)")
            let link = SubscribingLink(self, receiver)
            self.links.value.append(link)
            return link
        }
    }

    private final class SubscribingLink: Link {
        let receiver: any LinkReceiver
        private let server: Server

        init(_ server: Server, _ receiver: any LinkReceiver) { (self.server, self.receiver) = (server, receiver) }

        func open() {
            var info = LinkInfo()
            info.endpoints = self.server.endpoints
            self.server.executor.execute { [receiver, info] in receiver.receive([.opened(info)]) }
        }

        func send(_ message: OutboundMessage) -> SendAcceptance {
            self.server.heard.append("\(message.event) \(message.requestID.map { "#\($0)" } ?? "")")
            return .accepted
        }

        func deliver(_ message: OutboundMessage, key: String?, isRepeated: Bool) -> SendAcceptance {
            self.server.heard.append(
                "deliver \(message.event) #\(message.requestID ?? 99) \(key ?? "none")\(isRepeated ? " again" : "")")
            return .accepted
        }

        var followsListeners: Bool { true }

        func setListening(_ isListening: Bool, to event: String) throws(LinkspanError) {
            self.server.heard.append("\(isListening ? "+" : "-")\(event)")
            if event == "wrong" { throw LinkspanError(.encodingFailed, "there is no such event") }
        }

        func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { .accepted }
        func close(code: UInt16?, reason: String) { self.end() }
        func abort() { self.end() }

        private func end() {
            self.server.executor.execute { [receiver] in
                receiver.receive([.closed(LinkspanError(.connectionLost, "ended by a test"))])
            }
        }
    }

    private let scheduler = VirtualScheduler()
    private let server: Server

    init() { self.server = Server(self.scheduler) }

    private func connect(
        _ server: Server? = nil, _ change: (inout ConnectionOptions) -> Void = { _ in }
    ) throws -> ConnectionHandler {
        let manager = ConnectionManager(options: .init { $0.scheduler = self.scheduler })
        let connection = try ConnectionBuilder("subscribing://server").transport(server ?? self.server)
            .options(change).connect(by: manager)
        return connection
    }

    private func tell(_ event: LinkEvent, link: Int = 0, of server: Server? = nil) {
        let links = (server ?? self.server).links
        self.scheduler.executor.execute { links.value[link].receiver.receive([event]) }
        self.scheduler.settle()
    }

    @Test
    func `an event is subscribed to with its first listener, before what is sent behind, and until its last has gone`()
        throws
    {
        let connection = try self.connect()
        let early = try connection.on("early") { _ in }
        self.scheduler.settle()
        #expect(self.server.heard.entries == ["open subscribing://server/", "+early"])
        let first = try connection.on("late") { _ in }
        try connection.send("late")
        let second = try connection.on("late") { _ in }
        first.cancel()
        self.scheduler.settle()
        #expect(self.server.heard.entries.suffix(2) == ["+late", "late "])
        second.cancel()
        early.cancel()
        self.scheduler.settle()
        #expect(Set(self.server.heard.entries.suffix(2)) == ["-late", "-early"])
        #expect(self.server.heard.entries.count == 6)
        connection.release()
    }

    @Test
    func `a listener that is added in a callback is subscribed before what the callback sends`() throws {
        let connection = try self.connect()
        try connection.on("first") { [weak connection] _ in
            _ = try? connection?.on("second") { _ in }
            try? connection?.send("x")
        }
        self.scheduler.settle()
        self.tell(.message(InboundMessage(event: "first", payload: .empty)))
        #expect(self.server.heard.entries.suffix(2) == ["+second", "x "])
        connection.release()
    }

    @Test
    func `a listener for one message ends its subscription, and each new link is told anew`() throws {
        let connection = try self.connect()
        _ = try connection.on("always") { _ in }
        _ = try connection.once("once") { _ in }
        self.scheduler.settle()
        self.tell(.message(InboundMessage(event: "once", payload: .empty)))
        #expect(self.server.heard.entries.last == "-once")
        self.tell(.closed(LinkspanError(.connectionLost, "lost in a test")))
        self.scheduler.advance(by: .seconds(30))
        #expect(self.server.heard.entries.suffix(2) == ["open subscribing://server/", "+always"])
        connection.release()
    }

    @Test
    func `an event that the server cannot have leaves the link up`() throws {
        let connection = try self.connect()
        _ = try connection.on("wrong") { _ in }
        self.scheduler.settle()
        #expect(self.server.heard.entries.last == "+wrong")
        #expect(connection.state == .connected)
        connection.release()
    }

    @Test(arguments: [true, false])
    func `a delivery without a key gets one from a connection whose transport sends keys`(sendsKeys: Bool) throws {
        let server = Server(self.scheduler, sendsKeys: sendsKeys)
        let connection = try self.connect(server)
        try connection.perform(Command(.deliver(orderingKey: ""), event: "job", payload: .empty))
        self.scheduler.settle()
        #expect(server.heard.entries.last?.hasPrefix("deliver job #0 ") == true)
        #expect(server.heard.entries.last?.hasSuffix("none") == !sendsKeys)
        connection.release()
    }

    @Test
    func `a delivery comes with its key, and says when it may have come before`() throws {
        let connection = try self.connect()
        try connection.perform(Command(.deliver(orderingKey: ""), event: "job", payload: .empty, key: "k1"))
        self.scheduler.settle()
        #expect(self.server.heard.entries.last == "deliver job #0 k1")
        self.tell(.closed(LinkspanError(.connectionLost, "lost in a test")))
        self.scheduler.advance(by: .seconds(30))
        #expect(self.server.heard.entries.last == "deliver job #1 k1 again")
        connection.release()
    }

    @Test
    func `a refused request fails alone, and so does a delivery, unless it is to come later`() throws {
        let connection = try self.connect { $0.deliveries.repeatAfter = .seconds(10) }
        let outcomes = Journal<String>("outcomes")
        let deliver = Command.Kind.deliver(orderingKey: "")
        for (kind, event) in [(Command.Kind.request, "ask"), (deliver, "job"), (deliver, "next")] {
            try connection.perform(
                Command(kind, event: event, payload: .empty) { outcome in
                    let error = outcome.failureCode?.rawValue ?? "done"
                    outcomes.append("\(event) \(error)")
                })
        }
        self.scheduler.settle()
        self.tell(.failed(id: 0, LinkspanError(.messageRefused, "refused in a test")))
        #expect(outcomes.entries == ["ask messageRefused"])
        self.tell(.failed(id: 1, LinkspanError(.serverUnavailable, "not now")))
        #expect(outcomes.entries.count == 1)
        self.scheduler.advance(by: .seconds(11))
        #expect(self.server.heard.entries.last { $0.hasPrefix("deliver job") }?.hasSuffix("again") == true)
        self.tell(.failed(id: 1, LinkspanError(.messageRefused, "never")))
        #expect(outcomes.entries == ["ask messageRefused", "job messageRefused"])
        self.tell(.failed(id: nil, LinkspanError(.refused, "something else")))
        self.tell(.failed(id: 77, LinkspanError(.refused, "nobody's")))
        #expect(connection.state == .connected)
        connection.release()
    }

    @Test(arguments: [(LinkspanError.Certainty.unknown, 20), (.notSent, 31)])
    func `a delivery that the server postpones is set aside in the end, unless nobody has heard it`(
        certainty: LinkspanError.Certainty, times: Int
    ) throws {
        let connection = try self.connect { $0.deliveries.repeatAfter = .seconds(10) }
        let outcomes = Journal<LinkspanError.Code?>("outcomes")
        let command = Command(.deliver(orderingKey: ""), event: "job", payload: .empty) {
            outcomes.append($0.failureCode)
        }
        try connection.perform(command)
        self.scheduler.settle()
        for _ in 1...30 {
            self.tell(.failed(id: 0, LinkspanError(.serverUnavailable, "not now", certainty: certainty)))
            self.scheduler.advance(by: .seconds(10))
        }
        #expect(self.server.heard.entries.filter { $0.hasPrefix("deliver job") }.count == times)
        #expect(outcomes.entries == (certainty == .notSent ? [] : [.setAside]))
        connection.release()
    }

    @Test
    func `nodes that the server names are tried after a loss, if they are of the same kind`() throws {
        let names = ["subscribing://second", "plain://third", "subscribing://server"]
        let server = Server(self.scheduler, endpoints: try names.map { try ConnectionURL($0) })
        let connection = try self.connect(server)
        self.scheduler.settle()
        self.tell(.closed(LinkspanError(.connectionLost, "lost in a test")), of: server)
        self.scheduler.advance(by: .seconds(30))
        #expect(server.heard.entries == ["open subscribing://server/", "open subscribing://second/"])
        connection.release()
    }

    @Test
    func `nodes that the server names while the link is open are tried after its loss, too`() throws {
        let connection = try self.connect()
        self.scheduler.settle()
        var info = LinkInfo()
        info.endpoints = [try ConnectionURL("subscribing://late")]
        self.tell(.changed(info))
        #expect(connection.status.link?.endpoints == info.endpoints)
        self.tell(.closed(LinkspanError(.connectionLost, "lost in a test")))
        self.scheduler.advance(by: .seconds(30))
        #expect(self.server.heard.entries == ["open subscribing://server/", "open subscribing://late/"])
        connection.release()
    }
}

extension Result<Payload, LinkspanError> {
    fileprivate var failureCode: LinkspanError.Code? { if case .failure(let error) = self { error.code } else { nil } }
}
