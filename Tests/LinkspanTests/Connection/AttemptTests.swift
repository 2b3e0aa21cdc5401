@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Attempts")
struct AttemptTests {
    @Test
    func `fault 2: a server that never answers costs the deadline, and the attempt is aborted`() throws {
        let harness = try Harness { number in number == 1 ? .hanging : .perfect }
        try harness.connection.connect()
        harness.scheduler.advance(by: .milliseconds(9_999))
        #expect(harness.connection.status.progress == .opening(attempt: 1))
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.connection.state == .reconnecting)
        let error = try #require(harness.recorder.changes.last?.reason.error)
        #expect(error.code == .timedOut)
        #expect(error.message == "scripted://server: no connection within 10 s, still waiting for the script")
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.connection.state == .connected)
        #expect(harness.recorder.changes.last?.attempt == 2)
    }

    @Test
    func `fault 1: refused attempts follow the schedule`() throws {
        let harness = try Harness { _ in .refusing(.lost) }
        let numbers = Lock<[Int]>([])
        _ = harness.connection.onStatusChange { change in
            if case .progress(.opening(let attempt)) = change { numbers.withLock { $0.append(attempt) } }
        }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        let count = harness.peers.count
        #expect(numbers.withLock { $0 } == Array(1...count))
        // 1 s, then 3 s, then 3.75 s each, at a chance of 0.5.
        #expect(count == 2 + 1 + Int((60 - 1 - 3) / 3.75))
        #expect(harness.recorder.states == [.disconnected, .reconnecting], "one outage is announced once")
    }

    @Test
    func `fault 21: a server that flaps gets at most an attempt each second`() throws {
        let harness = try Harness(random: { 0 }, script: { _ in .dropping(after: .milliseconds(100)) })
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.peers.count <= 60)
        #expect(harness.peers.count > 10)
    }

    @Test
    func `fault 5: what a busy server asks for is waited for, and a part of the spread`() throws {
        let busy = LinkspanError(.serverUnavailable, "busy", retryAfter: .seconds(16))
        let harness = try Harness { number in number == 1 ? .refusing(busy) : .perfect }
        try harness.connection.connect()
        harness.scheduler.advance(by: .milliseconds(16_999))
        #expect(harness.peers.count == 1)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.peers.count == 2)
    }

    /// Up and down for 100 ms each, for ten minutes; the server answers at once while it is up, or after some time, in which
    /// it may go down again.
    @Test(arguments: [1, 2, 3], [(milliseconds: 0, least: 300), (5, 270), (30, 180)])
    func `a server that comes and goes gets a delivery through every two seconds, at an attempt a second`(
        seed: UInt64, latency: (milliseconds: Int, least: Int)
    ) throws {
        let generator = Lock(SeededGenerator(seed: seed))
        let clock = Lock<VirtualScheduler?>(nil)
        let harness = try Harness(
            random: { generator.withLock { Double.random(in: 0..<1, using: &$0) } },
            script: { _ in
                let time = clock.withLock { $0?.elapsed ?? .zero } / .milliseconds(1)
                let left = 100 - Int(time) % 200
                return left > 0 ? .dropping(after: .milliseconds(left)) : .refusing(.lost)
            })
        clock.withLock { $0 = harness.scheduler }
        let scheduler = harness.scheduler
        harness.transport.onMessage { message in
            guard latency.milliseconds > 0 else { return message.reply() }
            _ = scheduler.schedule(at: scheduler.now + .milliseconds(latency.milliseconds)) { message.reply() }
        }
        try harness.connection.connect()
        var delivered = 0
        for number in 0..<600 {
            try harness.perform(.deliver(orderingKey: "room"), "line \(number)")
            harness.scheduler.advance(by: .seconds(1))
            delivered = harness.recorder.endedLabels.count
        }
        #expect(delivered >= latency.least)
        #expect(harness.peers.count <= 601)
        clock.withLock { $0 = nil }
    }

    @Test(arguments: [true, false])
    func `a server that has sent a message or a reply over links that end soon is one that comes and goes`(
        isReply: Bool
    ) throws {
        let harness = try Harness.connected()
        for _ in 0..<3 {
            if isReply { try harness.perform(.request, "question") } else { harness.peers.last?.emit("news") }
            harness.scheduler.settle()
            harness.peers.last?.drop()
            // The waits for a server that is down would grow beyond this.
            harness.scheduler.advance(by: .seconds(2))
            #expect(harness.connection.state == .connected)
        }
    }

    @Test
    func `fault 23: late words of a former link are ignored`() throws {
        let harness = try Harness { number in .init { $0.speaksAfterDrop = number == 1 } }
        let recorder = harness.recorder
        try harness.connection.on("event") { recorder.record(.message($0)) }
        try harness.enter(.connected)
        let former = try #require(harness.peers.first)
        former.drop()
        harness.scheduler.advance(by: .seconds(5))
        former.emit("event")
        former.close()
        harness.scheduler.settle()
        #expect(harness.connection.state == .connected)
        #expect(recorder.messages.isEmpty)
    }

    @Test(arguments: [1, 5])
    func `fault 40: disconnecting in the middle of an attempt leaves no link behind`(seconds: Int) throws {
        let harness = try Harness { number in
            number == 1 ? .dropping(after: .seconds(1)) : .init { $0.openingDelay = .seconds(8) }
        }
        try harness.enter(.connected)
        harness.scheduler.advance(by: .seconds(seconds))
        try harness.connection.disconnect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.transport.openPeers.isEmpty)
        #expect(harness.connection.state == .disconnected)
        #expect(harness.peers.count <= 2)
    }

    @Test
    func `a question that came over a former link is not answered over a newer one`() throws {
        let harness = try Harness { _ in .perfect }
        let (connection, recorder) = (harness.connection, harness.recorder)
        try connection.on("question") { message in
            recorder.note(message.wantsReply ? "answerable" : "not answerable")
            try? message.reply("answer")
        }
        try harness.enter(.connected)
        harness.peers.first?.ask("question") { recorder.note("answered with \($0.text)") }
        harness.scheduler.settle()
        #expect(recorder.notes == ["answerable", "answered with \"answer\""])
    }

    @Test(.timeLimit(.minutes(1)))
    func `a goodbye is waited for, also when it comes in the batch that led to it`() async throws {
        let harness = try Harness { _ in .perfect }
        let connection = harness.connection
        try harness.enter(.connected)
        let adapter = try connection.ask { $0.makeAdapter(epoch: 1) }
        try connection.on("bye") { _ in try? connection.disconnect() }
        harness.scheduler.executor.execute {
            adapter.receive([.message(InboundMessage(event: "bye", payload: .empty)), .closed(.lost)])
        }
        #expect(connection.state == .disconnected)
        // Returns at once: nobody moves the clock that its limit runs on.
        await connection.settle(within: .seconds(5))
    }

    @Test
    func `a link that is given up before it was open is let go of`() throws {
        let harness = try Harness { _ in .hanging }
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(try harness.connection.ask { $0.sender.link != nil })
        try harness.connection.disconnect()
        #expect(try harness.connection.ask { $0.sender.link == nil })
    }
}
