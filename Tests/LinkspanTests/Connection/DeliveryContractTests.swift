@testable import Linkspan
internal import LinkspanTesting
internal import Testing

/// What a change of state does to everything that is on its way, row by row of the delivery contract.
@Suite("The delivery contract")
struct DeliveryContractTests {
    /// A connection with one command in each column of the table: `plain` waits because the link is full, `request` and
    /// `head` are under way, `queued` waits behind `head` in its ordering key; and somebody listens.
    private struct Traffic {
        let harness: Harness

        var connection: PooledConnection { self.harness.connection }
        /// What the listener heard.
        var heard: [String] { self.harness.recorder.notes }

        init(_ harness: Harness) throws {
            self.harness = harness
            let recorder = harness.recorder
            try harness.connection.onItems("news") { item in
                switch item {
                case .message: recorder.note("message")
                case .continuity(let mark): recorder.note("\(mark)")
                }
            }
            if harness.connection.state == .created { try harness.enter(.connected) }
            try harness.perform(.request, "request")
            try harness.perform(.deliver(orderingKey: "room"), "head")
            try harness.perform(.deliver(orderingKey: "room"), "queued")
            try harness.perform(.send, "plain", timeout: .seconds(90))
            harness.scheduler.settle()
            #expect(harness.transport.sent.map(\.event) == ["request", "head"])
            #expect(harness.recorder.endedLabels.isEmpty)
        }

        init() throws { try self.init(Harness(script: Self.script)) }

        /// The first link has room for two messages.
        static func script(_ number: Int) -> LinkScript { .init { $0.capacity = number == 1 ? 2 : nil } }

        /// The request had to fail, and nothing else did.
        func checkLoss() {
            #expect(self.harness.recorder.endedLabels == ["request"])
            #expect(self.harness.failure("request")?.code == .disconnected)
            #expect(self.harness.failure("request")?.certainty == .unknown)
        }

        /// All that was kept arrives over the next link: what waited, then the deliveries in their order.
        func checkReturn(_ expected: [String] = ["plain", "head", "queued"]) {
            self.harness.transport.onMessage { $0.reply() }
            self.harness.scheduler.advance(by: .seconds(70))
            #expect(self.connection.state == .connected)
            #expect(self.harness.transport.sent.filter { $0.link > 1 }.map(\.event) == expected)
            for event in expected { #expect(self.harness.isSuccess(event)) }
            self.harness.transport.openPeers.first?.emit("news")
            self.harness.scheduler.settle()
            #expect(self.heard == ["gap(Linkspan.Continuity.Reason.reconnected)", "message"])
        }
    }

    @Test
    func `5.4 idle to connecting: what waits is kept, and new calls wait behind it`() throws {
        let harness = try Harness { _ in .init { $0.openingDelay = .seconds(5) } }
        harness.transport.onMessage { $0.reply() }
        try harness.perform(.send, "plain")
        try harness.perform(.deliver(orderingKey: "room"), "queued")
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(4))
        #expect(harness.connection.status.progress == .opening(attempt: 1))
        try harness.perform(.send, "new")
        try harness.perform(.deliver(orderingKey: "room"), "newer")
        #expect(harness.connection.status.waitingCommands == 4)
        #expect(harness.recorder.endedLabels.isEmpty)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.arrived == ["plain", "new", "queued", "newer"])
    }

    @Test
    func `5.4 connecting to connected: new calls leave at once, and listeners hear no mark of a first link`() throws {
        let harness = try Harness()
        let recorder = harness.recorder
        try harness.connection.onItems("news") { item in
            if case .continuity = item { recorder.note("mark") } else { recorder.note("message") }
        }
        try harness.enter(.connected)
        try harness.perform(.send, "new")
        try harness.perform(.request, "asked")
        #expect(harness.transport.sent.map(\.event) == ["new", "asked"])
        harness.peers.first?.emit("news")
        harness.scheduler.settle()
        #expect(recorder.notes == ["message"])
    }

    @Test
    func `5.4 connected to backing off: requests fail, the rest is kept, new calls wait, listeners get a mark`() throws
    {
        let traffic = try Traffic()
        traffic.harness.peers.first?.drop()
        traffic.harness.scheduler.settle()
        #expect(traffic.connection.state == .reconnecting)
        traffic.checkLoss()
        try traffic.harness.perform(.send, "new")
        traffic.checkReturn(["plain", "new", "head", "queued"])
    }

    @Test
    func `5.4 backing off to suspended: what waits ends with its own time alone, and deliveries have all of it`() throws
    {
        let traffic = try Traffic()
        traffic.harness.peers.first?.drop()
        traffic.harness.scheduler.settle()
        traffic.connection.suspend(LinkspanError(.suspended, "in a test"), patience: nil)
        #expect(traffic.connection.status.progress == .suspended)
        traffic.checkLoss()
        try traffic.harness.perform(.send, "new")
        traffic.harness.scheduler.advance(by: .seconds(600))
        #expect(traffic.harness.recorder.endedLabels == ["request", "plain"])
        #expect(traffic.harness.failure("plain")?.code == .timedOut)
        #expect(traffic.harness.failure("plain")?.certainty == .notSent)
        traffic.connection.resume(within: .milliseconds(250))
        traffic.checkReturn(["new", "head", "queued"])
    }

    @Test
    func `5.4 any to failed: everything fails with the cause and new calls are refused; listeners stay`() throws {
        let traffic = try Traffic()
        traffic.harness.peers.first?.drop(.permanent)
        traffic.harness.scheduler.settle()
        #expect(traffic.connection.state == .disconnected)
        #expect(Set(traffic.harness.recorder.endedLabels) == ["request", "plain", "head", "queued"])
        let certainties: [(String, LinkspanError.Certainty)] = [
            ("request", .unknown), ("plain", .notSent), ("head", .unknown), ("queued", .notSent),
        ]
        for (event, certainty) in certainties {
            let error = traffic.harness.failure(event)
            #expect(error?.code == .disconnected)
            #expect(error?.certainty == certainty)
            #expect((error?.cause as? LinkspanError)?.code == LinkspanError.permanent.code)
        }
        for kind in [Command.Kind.send, .request, .deliver(orderingKey: "room")] {
            let error = #expect(throws: LinkspanError.self) { try traffic.harness.perform(kind, "new") }
            #expect(error?.code == .disconnected)
            #expect((error?.cause as? LinkspanError)?.code == LinkspanError.permanent.code)
        }
        traffic.harness.scheduler.advance(by: .seconds(600))
        #expect(traffic.harness.peers.count == 1)
        try traffic.connection.connect()
        try traffic.harness.perform(.deliver(orderingKey: "room"), "newest")
        traffic.checkReturn(["newest"])
    }

    @Test
    func `5.4 any to failed: deliveries stay where the app has asked for that, and new ones wait`() throws {
        let traffic = try Traffic(
            Harness(options: { $0.deliveries.waitsAfterFailure = true }, script: Traffic.script))
        traffic.harness.peers.first?.drop(.permanent)
        traffic.harness.scheduler.settle()
        #expect(traffic.connection.state == .disconnected)
        #expect(traffic.harness.recorder.endedLabels == ["request", "plain"])
        #expect(traffic.harness.failure("request")?.certainty == .unknown)
        #expect(traffic.harness.failure("plain")?.code == .disconnected)
        #expect(traffic.harness.failure("plain")?.certainty == .notSent)
        #expect(throws: LinkspanError.self) { try traffic.harness.perform(.send, "refused") }
        try traffic.harness.perform(.deliver(orderingKey: "room"), "new")
        traffic.harness.scheduler.advance(by: .seconds(600))
        #expect(traffic.harness.peers.count == 1)
        try traffic.connection.connect()
        traffic.checkReturn(["head", "queued", "new"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `5.4 token expires while connected: one renewal, and nothing on its way is disturbed`() async throws {
        let provider = GatedProvider()
        let harness = try Harness(
            credentials: .provider { try await provider.credentials(for: $0) }, script: Traffic.script)
        try harness.connection.connect()
        try await provider.called(1, harness.scheduler)
        provider.answer(1, token: "1", validFor: .seconds(20))
        try await eventually("the first link", harness.scheduler) { harness.connection.state == .connected }
        let traffic = try Traffic(harness)
        harness.scheduler.advance(by: .seconds(16))
        try await provider.called(2, harness.scheduler)
        provider.answer(2, token: "2")
        try await eventually("the renewal", harness.scheduler) {
            harness.connection.renewalDeadline == nil
        }
        #expect(provider.reasons == [.first, .expiring])
        #expect(harness.recorder.changes.map(\.to) == [.connected])
        #expect(harness.recorder.endedLabels.isEmpty)
        harness.transport.onMessage { $0.reply() }
        for _ in 0..<3 {
            harness.peers.first?.read()
            harness.scheduler.settle()
        }
        #expect(Set(harness.recorder.endedLabels) == ["request", "head", "queued", "plain"])
        #expect(["request", "head", "queued", "plain"].allSatisfy { harness.isSuccess($0) })
        #expect(traffic.heard.isEmpty)
    }

    @Test
    func `5.4 network path change: as a loss, at once`() throws {
        let traffic = try Traffic()
        traffic.connection.suspend(LinkspanError(.pathLost, "in a test"), patience: .seconds(60))
        #expect(traffic.connection.state == .reconnecting)
        traffic.checkLoss()
        try traffic.harness.perform(.send, "new")
        traffic.connection.resume(within: .milliseconds(250))
        traffic.checkReturn(["plain", "new", "head", "queued"])
    }

    @Test
    func `5.4 close: everything ends, new calls throw, streams finish`() throws {
        let traffic = try Traffic()
        let recorder = traffic.harness.recorder
        _ = traffic.connection.onEnd { recorder.note("end") }
        try traffic.connection.disconnect()
        traffic.checkLoss()
        #expect(traffic.heard.isEmpty)
        try traffic.connection.release()
        #expect(traffic.harness.recorder.endedLabels == ["request", "plain", "head", "queued"])
        let certainties: [(String, LinkspanError.Certainty)] = [
            ("plain", .notSent), ("head", .unknown), ("queued", .notSent),
        ]
        for (event, certainty) in certainties {
            #expect(traffic.harness.failure(event)?.code == .released)
            #expect(traffic.harness.failure(event)?.certainty == certainty)
        }
        for kind in [Command.Kind.send, .request, .deliver(orderingKey: "room")] {
            let error = #expect(throws: LinkspanError.self) { try traffic.harness.perform(kind, "new") }
            #expect(error?.code == .released)
            #expect(error?.certainty == .notSent)
        }
        #expect(traffic.heard == ["end"])
    }

    @Test(.timeLimit(.minutes(1)))
    func `5.4 task cancelled: it ends at once, and says whether it was sent`() async throws {
        let harness = try Harness(script: Traffic.script)
        try harness.enter(.connected)
        let connection = harness.connection
        let names = ["request", "head", "queued", "plain"]
        var tasks: [Task<Payload, any Error>] = []
        for (index, name) in names.enumerated() {
            tasks.append(
                Task {
                    name == "request" || name == "plain"
                        ? try await connection.request(name) : try await connection.deliver(name, orderingKey: "room")
                })
            try await eventually("the call of \(name)", harness.scheduler) {
                (try? connection.ask { $0.sender.outgoing.listed.count }) == index + 1
            }
        }
        #expect(harness.transport.sent.map(\.event) == ["request", "head"])
        // From the newest, so that nothing moves up.
        for (task, certainty) in zip(tasks, [.unknown, .unknown, .notSent, .notSent] as [LinkspanError.Certainty])
            .reversed()
        {
            task.cancel()
            let error = await #expect(throws: LinkspanError.self) { try await task.value }
            #expect(error?.code == .cancelled)
            #expect(error?.certainty == certainty)
        }
        #expect(await connection.commands.isEmpty)
        harness.peers.first?.read()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.transport.sent.map(\.event) == ["request", "head"])
    }
}
