@testable import Linkspan
internal import LinkspanTesting
internal import Testing

/// Deliveries that were under way when a link ended because of a message; retries come within 6 s.
@Suite("Deliveries that end their links")
struct PoisonDetectorTests {
    /// A connection to a server that ends the link over each message whose name begins with "poison", and answers the others
    /// unless their names begin with "silent".
    private func harness(
        endingAfter delay: Duration = .zero, _ options: (inout ConnectionOptions) -> Void = { _ in }
    ) throws -> Harness {
        let harness = try Harness(options: options, script: { _ in .perfect })
        let scheduler = harness.scheduler
        harness.transport.onMessage { message in
            if message.event.hasPrefix("poison") {
                scheduler.schedule(after: delay) {
                    message.peer.drop(LinkspanError(.messageRefused, "too large for this server"))
                }
            } else if !message.event.hasPrefix("silent") {
                message.reply(.json("\"\(message.event)\""))
            }
        }
        try harness.enter(.connected)
        return harness
    }

    /// Ends the link by a send, with what was given to it before.
    private func endLink(of harness: Harness) throws {
        try harness.perform(.send, "poison")
        harness.scheduler.settle()
        #expect(harness.connection.state == .reconnecting)
    }

    private func count(of event: String, in harness: Harness) -> Int { harness.arrived.count { $0 == event } }

    @Test
    func `a delivery is not blamed for sends that wait for the next link and end it too`() throws {
        let harness = try self.harness()
        try harness.perform(.deliver(orderingKey: "room"), "silent")
        for _ in 0..<4 {
            try self.endLink(of: harness)
            try harness.perform(.send, "poison")
            harness.scheduler.advance(by: .seconds(50))
            #expect(harness.connection.state == .connected)
        }
        #expect(harness.peers.count == 9)
        #expect(harness.outcome("silent") == nil)
        harness.transport.onMessage { $0.reply() }
        harness.scheduler.advance(by: .seconds(20))
        #expect(harness.isSuccess("silent"))
    }

    @Test
    func `a delivery that ends its links is set aside although the app sends all the time`() throws {
        let harness = try self.harness(endingAfter: .milliseconds(250))
        try harness.perform(.deliver(orderingKey: "room"), "poison")
        try harness.perform(.deliver(orderingKey: "room"), "behind it")
        for number in 0..<200 {
            try harness.perform(.send, "send \(number)")
            try harness.perform(.request, "request \(number)", timeout: .seconds(30))
            harness.scheduler.advance(by: .milliseconds(100))
        }
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.failure("poison")?.code == .messageRefused)
        #expect(self.count(of: "poison", in: harness) == 2)
        #expect(harness.isSuccess("behind it"))
        #expect(harness.peers.count == 3)
        #expect(harness.connection.status.waitingCommands == 0)
        #expect((0..<200).allSatisfy { harness.isSuccess("send \($0)") }, "a send is lost")
    }

    @Test
    func `a candidate that is not answered stops everything else for no longer than repeatAfter`() throws {
        let harness = try self.harness()
        try harness.perform(.deliver(orderingKey: "a"), "silent")
        try self.endLink(of: harness)
        try harness.perform(.deliver(orderingKey: "b"), "other")
        try harness.perform(.send, "news")
        while harness.connection.state != .connected { harness.scheduler.advance(by: .milliseconds(1)) }
        let before = harness.arrived.count
        harness.scheduler.advance(by: .milliseconds(19_990))
        #expect(harness.arrived.dropFirst(before).allSatisfy { $0 == "silent" })
        harness.scheduler.advance(by: .milliseconds(20))
        #expect(harness.isSuccess("other"))
        #expect(harness.isSuccess("news"))
        // It is repeated from then on, and nothing waits for it.
        for number in 0..<40 {
            try harness.perform(.deliver(orderingKey: "b"), "\(number)")
            harness.scheduler.advance(by: .seconds(1))
            #expect(harness.isSuccess("\(number)"))
        }
        #expect(harness.outcome("silent") == nil)
        #expect(harness.peers.count == 2)
    }

    @Test
    func `a candidate that the server asks for later stops nothing else`() throws {
        let harness = try self.harness {
            $0.deliveries.replies = ReplyPolicy { $0[0]?.string == "busy" ? .later : .taken }
        }
        try harness.perform(.deliver(orderingKey: "a"), "busy")
        try harness.perform(.deliver(orderingKey: "c"), "silent")
        try self.endLink(of: harness)
        try harness.perform(.deliver(orderingKey: "b"), "other")
        harness.scheduler.advance(by: .seconds(6))
        #expect(Array(harness.arrived.suffix(2)) == ["busy", "silent"], "the next candidate has its turn")
        harness.transport.openPeers.first?.reply(try #require(harness.transport.sent.last?.requestID))
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.isSuccess("silent"))
        #expect(harness.isSuccess("other"))
        #expect(harness.outcome("busy") == nil)
    }

    @Test
    func `candidates that are never answered do not hide the one that ends its links`() throws {
        let harness = try self.harness(endingAfter: .milliseconds(250))
        for number in 0..<3 { try harness.perform(.deliver(orderingKey: "\(number)"), "silent \(number)") }
        try harness.perform(.deliver(orderingKey: "p"), "poison")
        for _ in 0..<1_200 where harness.outcome("poison") == nil {
            try harness.perform(.send, "news")
            harness.scheduler.advance(by: .milliseconds(100))
        }
        #expect(harness.failure("poison")?.code == .messageRefused)
        #expect(self.count(of: "poison", in: harness) == 5, "once with all, once behind each of the others, once alone")
        for number in 0..<3 { #expect(harness.outcome("silent \(number)") == nil) }
        harness.scheduler.advance(by: .seconds(30))
        #expect(harness.connection.status.waitingCommands == 3)
    }

    @Test
    func `a candidate is not blamed for another one that was cancelled before its answer`() throws {
        let harness = try self.harness()
        try harness.perform(.deliver(orderingKey: "a"), "silent and cancelled")
        try harness.perform(.deliver(orderingKey: "b"), "silent")
        try self.endLink(of: harness)
        harness.scheduler.advance(by: .seconds(6))
        #expect(harness.arrived.last == "silent and cancelled")
        harness.connection.cancelCommands { $0.event == "silent and cancelled" }
        harness.scheduler.settle()
        #expect(harness.arrived.last == "silent")
        try self.endLink(of: harness)
        harness.scheduler.advance(by: .seconds(6))
        #expect(harness.outcome("silent") == nil)
    }

    @Test
    func `a candidate is not blamed for a reply beside it that ends the link`() throws {
        let harness = try self.harness()
        try harness.connection.on("question") { $0.reply(payload: .json("too large")) }
        try harness.perform(.deliver(orderingKey: "a"), "silent")
        try self.endLink(of: harness)
        harness.transport.onConnect { peer in
            guard peer.number < 4 else { return }
            peer.ask("question") { _ in peer.drop(LinkspanError(.messageRefused, "too large for this server")) }
        }
        harness.scheduler.advance(by: .seconds(30))
        #expect(harness.peers.count == 4)
        #expect(harness.outcome("silent") == nil)
        harness.transport.openPeers.first?.reply(try #require(harness.transport.sent.last?.requestID))
        harness.scheduler.settle()
        #expect(harness.isSuccess("silent"))
    }

    @Test
    func `a delivery that ends its links is set aside although the server asks something over each`() throws {
        let harness = try self.harness(endingAfter: .milliseconds(250))
        try harness.connection.on("question") { $0.reply(payload: .empty) }
        harness.transport.onConnect { $0.ask("question") { _ in } }
        try harness.perform(.deliver(orderingKey: "a"), "poison")
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.failure("poison")?.code == .messageRefused)
        #expect(self.count(of: "poison", in: harness) == 4, "once with all, twice beside a reply, once more")
    }

    @Test
    func `links that end in another way do not make everything wait over each next one`() throws {
        let harness = try self.harness()
        try harness.perform(.deliver(orderingKey: "a"), "silent")
        try self.endLink(of: harness)
        try harness.perform(.send, "news")
        harness.scheduler.advance(by: .seconds(6))
        #expect(harness.arrived.last == "silent")
        harness.transport.openPeers.first?.drop()
        harness.scheduler.advance(by: .seconds(6))
        #expect(harness.isSuccess("news"))
    }

    @Test
    func `a candidate that fills its link is sent alone, and what waits follows its answer`() throws {
        let harness = try Harness { number in .init { if number == 2 { $0.capacity = 1 } } }
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "a"), "large")
        harness.transport.onMessage { message in
            if message.event == "poison" { message.peer.drop(LinkspanError(.messageRefused, "too large")) }
        }
        try self.endLink(of: harness)
        for event in ["x", "y"] { try harness.perform(.send, event) }
        harness.scheduler.advance(by: .seconds(6))
        let peer = try #require(harness.transport.openPeers.first)
        peer.read()
        harness.scheduler.settle()
        #expect(harness.arrived.last == "large", "the link has room")
        peer.reply(1)
        for _ in 0..<3 {
            harness.scheduler.settle()
            peer.read()
        }
        harness.scheduler.settle()
        #expect(harness.isSuccess("large"))
        #expect(Array(harness.arrived.suffix(2)) == ["x", "y"])
    }

    @Test
    func `a candidate that was answered, or is gone, is none any more`() {
        let ids = (0..<3).map { _ in Command(.send, event: "a", payload: .empty).id }
        var detector = PoisonDetector()
        _ = detector.linkEnded(ids)
        detector.linkOpened()
        detector.clear(ids[0])
        detector.remove(ids[1])
        #expect(detector.ids == [ids[2]])
        #expect(detector.isActive)
    }
}
