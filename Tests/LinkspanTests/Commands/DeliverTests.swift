@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Deliveries")
struct DeliverTests {
    @Test
    func `5.4 connected to backing off: deliveries are sent again in order, with at most one duplicate each`() throws {
        // Every link dies with its third message.
        let harness = try Harness { _ in
            .init {
                $0.dropsAfterMessages = 3; $0.delayToClient = { .milliseconds(1) }
            }
        }
        harness.transport.onMessage { $0.reply() }
        for number in 0..<20 { try harness.perform(.deliver(orderingKey: "room"), "\(number)") }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.recorder.endedLabels == (0..<20).map(String.init))
        var applied: [String] = []
        for event in harness.arrived where applied.last != event { applied.append(event) }
        #expect(applied == (0..<20).map(String.init), "out of order")
        let repeats = harness.arrived.count - applied.count
        #expect(repeats > 0)
        #expect(repeats <= harness.peers.count)
    }

    @Test
    func `in a orderingKey one is under way at a time, and queues do not wait for each other`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        for number in 0..<3 {
            try harness.perform(.deliver(orderingKey: "a"), "a\(number)")
            try harness.perform(.deliver(orderingKey: "b"), "b\(number)")
        }
        harness.scheduler.settle()
        #expect(harness.arrived == ["a0", "b0"])
        harness.peers.first?.reply(1)
        harness.scheduler.settle()
        #expect(harness.arrived == ["a0", "b0", "b1"])
    }

    @Test
    func `5.4 any to failed: deliveries that may wait are kept and go on after the next connect`() throws {
        let harness = try Harness(
            options: { $0.deliveries.waitsAfterFailure = true },
            script: { number in number == 1 ? .refusing(.permanent) : .perfect })
        harness.transport.onMessage { $0.reply() }
        try harness.perform(.deliver(orderingKey: "room"), "kept")
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(harness.connection.state == .disconnected)
        #expect(harness.connection.status.waitingCommands == 1)
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(harness.isSuccess("kept"))
    }

    @Test
    func `5.4 close: a delivery that was sent once is not called unsent at release`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "sent")
        try harness.perform(.deliver(orderingKey: "room"), "behind")
        harness.scheduler.settle()
        try harness.connection.disconnect()
        try harness.connection.release()
        #expect(harness.failure("sent")?.certainty == .unknown)
        #expect(harness.failure("behind")?.certainty == .notSent)
    }

    @Test
    func `a delivery that runs out of time makes way for the next of its orderingKey`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        try harness.perform(.deliver(orderingKey: "room"), "slow", timeout: .seconds(5))
        try harness.perform(.deliver(orderingKey: "room"), "next")
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.failure("slow")?.code == .timedOut)
        #expect(harness.failure("slow")?.certainty == .unknown)
        #expect(harness.arrived == ["slow", "next"])
    }

    @Test
    func `a rejected delivery makes way for the next of its orderingKey`() throws {
        let error = LinkspanError(.messageTooLarge, "too large")
        let harness = try Harness { _ in .init { $0.rejects = { $0.event == "large" ? error : nil } } }
        harness.transport.onMessage { $0.reply() }
        for event in ["large", "small"] { try harness.perform(.deliver(orderingKey: "room"), event) }
        try harness.enter(.connected)
        #expect(harness.failure("large")?.code == .messageTooLarge)
        #expect(harness.isSuccess("small"))
    }

    @Test
    func `the bound of deliveries is its own`() throws {
        let harness = try Harness(options: { $0.deliveries.commands = 1 }, script: { _ in .perfect })
        try harness.perform(.deliver(orderingKey: "room"), "a")
        let error = #expect(throws: LinkspanError.self) { try harness.perform(.deliver(orderingKey: "room"), "b") }
        #expect(error?.code == .bufferFull)
        try harness.perform(.send, "c")
        #expect(harness.connection.status.waitingCommands == 2)
    }

    @Test
    func `a cancelled delivery is not sent again`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        let command = Command(
            .deliver(orderingKey: "room"), event: "gone", payload: .empty,
            completion: harness.recorder.completion("gone"))
        try harness.connection.perform(command)
        harness.peers.first?.drop()
        harness.scheduler.settle()
        harness.connection.cancel(command.id)
        harness.scheduler.advance(by: .seconds(30))
        #expect(harness.transport.sent.count == 1)
        #expect(harness.failure("gone")?.certainty == .unknown)
    }

    @Test
    func `calls with the key of a waiting delivery keep no payload, and end as it does, sending nothing`() throws {
        let error = LinkspanError(.messageTooLarge, "too large")
        for isRejected in [true, false] {
            let harness = try Harness { _ in .init { if isRejected { $0.rejects = { _ in error } } } }
            harness.transport.onMessage { $0.reply() }
            for number in 1...3 {
                try harness.connection.perform(
                    Command(
                        .deliver(orderingKey: "room"), event: "a", payload: .json("\(number)"), key: "k",
                        completion: harness.recorder.completion("\(number)")))
            }
            let kept = try harness.connection.ask { core in
                (core.sender.outgoing.deliveries?.ledger.followers(of: "k") ?? []).map(\.payload.byteCount)
            }
            #expect(kept == [0, 0])
            #expect(harness.connection.status.waitingCommands == 3)
            try harness.enter(.connected)
            #expect(harness.transport.received.map(\.payload.text) == (isRejected ? [] : ["1"]))
            for number in 1...3 {
                #expect(harness.failure("\(number)")?.code == (isRejected ? .messageTooLarge : nil))
                #expect(harness.outcome("\(number)") != nil)
            }
            #expect(harness.connection.status.waitingCommands == 0)
        }
    }

    @Test
    func `the time of a delivery runs out, however many requests have come and gone`() throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { if $0.event == "answered" { $0.reply() } }
        for event in ["slow", "behind"] {
            try harness.perform(.deliver(orderingKey: "room"), event, timeout: .seconds(100))
        }
        for _ in 0..<200 {
            try harness.perform(.request, "answered", timeout: .seconds(50))
            harness.scheduler.settle()
        }
        harness.scheduler.advance(by: .seconds(100))
        #expect(["slow", "behind"].map { harness.failure($0)?.code } == [.timedOut, .timedOut])
        #expect(harness.failure("behind")?.certainty == .notSent)
    }
}
