@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Signals", .timeLimit(.minutes(1)))
struct SignalTests {
    private static func code(_ change: StateChange?) -> LinkspanError.Code? { change?.reason.error?.code }

    /// A connection that is up and has been for long enough to count as healthy.
    private func connected(
        _ harness: PoolHarness, _ recorder: EventRecorder = EventRecorder()
    ) throws -> ConnectionHandler {
        let handler = try harness.connect()
        _ = handler.onStateChange { recorder.record(.state($0)) }
        harness.scheduler.advance(by: .seconds(30))
        try #require(handler.state == .connected)
        return handler
    }

    // MARK: The path

    @Test
    func `path lost: what is up is dropped at once, and a request under way fails at once`() throws {
        let harness = PoolHarness()
        let recorder = EventRecorder()
        let handler = try self.connected(harness, recorder)
        try handler.perform(
            Command(.request, event: "ask", payload: .empty, completion: recorder.completion("ask")))
        harness.manager.signal(.pathLost)
        #expect(harness.transport.openPeers.isEmpty)
        #expect(recorder.states == [.connected, .disconnected, .reconnecting])
        #expect(Self.code(recorder.changes[1]) == .pathLost)
        guard case .failure(let error)? = recorder.outcomes("ask").first else {
            Issue.record("the request has not failed")
            return
        }
        #expect(error.code == .disconnected)
        #expect((error.cause as? LinkspanError)?.code == .pathLost)
        withExtendedLifetime(handler) {}
    }

    @Test
    func `while the path is away attempts are rare, but there are some, because the report may be wrong`() throws {
        let harness = PoolHarness { $0 < 4 ? ($0 == 1 ? .perfect : .refusing(.lost)) : .perfect }
        let handler = try self.connected(harness)
        harness.manager.signal(.pathLost)
        let lostAt = harness.scheduler.now
        harness.scheduler.advance(by: .milliseconds(59_999))
        #expect(harness.transport.peers.count == 1)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.transport.peers.count == 2)
        harness.scheduler.advance(by: .seconds(120))
        #expect(harness.transport.peers.count == 4)
        #expect(lostAt.duration(to: harness.scheduler.now) == .seconds(180))
        #expect(handler.state == .connected, "the path was there all the time")
        harness.scheduler.advance(by: .seconds(30))
        harness.transport.openPeers.first?.drop()
        harness.scheduler.advance(by: .seconds(2))
        #expect(handler.state == .connected, "a connection that came up disproves the report")
    }

    @Test
    func `path lost while an attempt waits or is under way: it waits for the path`() throws {
        let harness = PoolHarness { $0 == 1 ? .delaying(by: .seconds(1)) : .perfect }
        let handler = try harness.connect()
        harness.scheduler.advance(by: .milliseconds(100))
        #expect(handler.status.progress == .opening(attempt: 1))
        harness.manager.signal(.pathLost)
        #expect(handler.state == .reconnecting)
        harness.scheduler.advance(by: .seconds(50))
        #expect(harness.transport.peers.count == 1)
        #expect(harness.transport.openPeers.isEmpty, "what was under way has been given up")
        // Once more, while it waits: counted from now.
        harness.manager.signal(.pathLost)
        harness.scheduler.advance(by: .seconds(59))
        #expect(harness.transport.peers.count == 1)
        harness.scheduler.advance(by: .seconds(1))
        #expect(handler.state == .connected)
    }

    @Test(arguments: [KeeperSignal.pathAvailable, .foreground])
    func `path back, or the app in front: what waits is tried now, spread over a quarter of a second`(
        signal: KeeperSignal
    ) throws {
        let harness = PoolHarness(attempts: AttemptLimits(perSecond: 1_000, burst: 1_000), seed: 7)
        let handlers = try (0..<200).map { try harness.connect("scripted://server\($0)") }
        harness.scheduler.advance(by: .seconds(30))
        harness.manager.signal(.pathLost)
        harness.scheduler.advance(by: .seconds(20))
        #expect(harness.transport.openPeers.isEmpty)
        harness.manager.signal(signal)
        var opened: [Int] = []
        for _ in 0..<5 {
            harness.scheduler.advance(by: .milliseconds(50))
            opened.append(harness.transport.openPeers.count)
        }
        #expect(opened.last == 200)
        for (index, count) in opened.enumerated() {
            #expect(abs(count - 40 * (index + 1)) < 30, "\(opened) is not spread evenly")
        }
        withExtendedLifetime(handlers) {}
    }

    @Test
    func `a lost path is no failure of the server, and connect ends the slow attempts`() throws {
        let harness = PoolHarness { (2...5).contains($0) ? .refusing(.lost) : .perfect }
        let handler = try self.connected(harness)
        harness.manager.signal(.pathLost)
        harness.manager.signal(.pathAvailable)
        harness.scheduler.advance(by: .milliseconds(125))
        #expect(harness.transport.peers.count == 2)
        // The first wait of a new outage, not the second.
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.transport.peers.count == 3)
        harness.manager.signal(.pathLost)
        try handler.disconnect()
        try handler.connect()
        harness.scheduler.settle()
        #expect(harness.transport.peers.count == 4)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.transport.peers.count == 5, "on the usual schedule")
    }

    @Test
    func `the rare attempts while the path is away use up no limit, and make no outage old`() throws {
        let asked = Asked()
        let harness = PoolHarness { (2...20).contains($0) ? .refusing(.lost) : .perfect }
        let handler = try harness.connect {
            $0.retry = RetryPolicy { question in
                asked.record(question)
                return .seconds(1)
            }
        }
        harness.scheduler.advance(by: .seconds(30))
        harness.manager.signal(.pathLost)
        harness.scheduler.advance(by: .seconds(300))
        #expect(asked.questions.map(\.failures) == [1, 1, 1, 1, 1, 1])
        harness.manager.signal(.pathAvailable)
        // The last attempt was a moment ago, so the next is a second away.
        harness.scheduler.advance(by: .seconds(2))
        #expect(asked.questions.map(\.failures).suffix(2) == [1, 2])
        #expect(asked.questions.suffix(2).map(\.outage) == [.seconds(1), .seconds(2)])
        withExtendedLifetime(handler) {}
    }

    @Test
    func `signals shorten what the server asked for to their own spread`() throws {
        let busy = LinkspanError(.serverUnavailable, "busy", retryAfter: .seconds(20))
        let harness = PoolHarness { $0 == 1 ? .refusing(busy) : .perfect }
        let handler = try harness.connect()
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.transport.peers.count == 1)
        harness.manager.signal(.pathAvailable)
        harness.scheduler.advance(by: .seconds(1))
        #expect(handler.state == .connected)
    }

    @Test
    func `a connection that is never retried stays down when the path goes`() throws {
        let harness = PoolHarness()
        let handler = try harness.connect("scripted://server") {
            $0.retry = .never
        }
        harness.scheduler.settle()
        harness.manager.signal(.pathLost)
        #expect(handler.state == .disconnected)
        #expect(handler.status.progress == .idle)
        harness.manager.signal(.pathAvailable)
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.transport.peers.count == 1)
    }

    // MARK: The app

    @Test
    func `background: up for the idle timeout, then suspended with all that waits, and back in front it comes back`()
        throws
    {
        let harness = PoolHarness()
        let recorder = EventRecorder()
        let handler = try self.connected(harness, recorder)
        try handler.on("news") { recorder.record(.message($0)) }
        harness.manager.signal(.background)
        harness.scheduler.advance(by: .milliseconds(29_999))
        #expect(handler.state == .connected)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(handler.state == .disconnected)
        #expect(handler.status.progress == .suspended)
        #expect(Self.code(recorder.changes.last) == .suspended)
        #expect(harness.transport.openPeers.isEmpty)
        try handler.send("kept")
        harness.scheduler.advance(by: .seconds(3_600))
        #expect(harness.transport.peers.count == 1, "no attempt in the background")
        #expect(handler.status.waitingCommands == 1)
        #expect(
            handler.explain()
                == "The connection to scripted://server/ is suspended. The reason: the app is in the background "
                + "(suspended). An attempt starts when the app comes to the foreground, or with connect(). "
                + "1 command waits.")
        harness.manager.signal(.foreground)
        #expect(handler.state == .reconnecting)
        harness.scheduler.advance(by: .milliseconds(250))
        #expect(handler.state == .connected)
        #expect(harness.transport.received.map(\.event) == ["kept"])
        harness.transport.openPeers.first?.emit("news")
        harness.scheduler.settle()
        #expect(recorder.messages.count == 1)
        #expect(recorder.states == [.connected, .disconnected, .reconnecting, .connected])
    }

    @Test
    func `an app that comes back within the idle timeout has lost nothing, and the next stay has a timeout of its own`()
        throws
    {
        let harness = PoolHarness()
        let handler = try self.connected(harness)
        harness.manager.signal(.background)
        harness.scheduler.advance(by: .seconds(20))
        harness.manager.signal(.foreground)
        harness.manager.signal(.background)
        harness.manager.signal(.background)
        harness.scheduler.advance(by: .seconds(29))
        #expect(handler.state == .connected)
        #expect(harness.transport.peers.count == 1)
        harness.scheduler.advance(by: .seconds(1))
        #expect(handler.status.progress == .suspended)
    }

    @Test(arguments: [LinkScript.hanging, .refusing(.lost)])
    func `background while the connection is being made or brought back: no more attempts`(script: LinkScript) throws {
        let harness = PoolHarness { _ in script }
        let handler = try harness.connect()
        harness.manager.signal(.background)
        harness.scheduler.advance(by: .seconds(30))
        #expect(handler.status.progress == .suspended)
        let attempts = harness.transport.peers.count
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.transport.peers.count == attempts)
        harness.manager.signal(.foreground)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.transport.peers.count == attempts + 1)
    }

    @Test
    func `the path that comes and goes in the background brings nothing back`() throws {
        let harness = PoolHarness()
        let handler = try self.connected(harness)
        harness.manager.signal(.background)
        harness.scheduler.advance(by: .seconds(30))
        harness.manager.signal(.pathLost)
        harness.manager.signal(.pathAvailable)
        harness.scheduler.advance(by: .seconds(600))
        #expect(handler.status.progress == .suspended)
        #expect(harness.transport.peers.count == 1)
        harness.manager.signal(.foreground)
        harness.scheduler.advance(by: .seconds(1))
        #expect(handler.state == .connected)
    }

    @Test
    func `the app's own wish goes first: connect in the background connects, disconnect stays`() throws {
        let harness = PoolHarness()
        let handler = try self.connected(harness)
        harness.manager.signal(.background)
        harness.scheduler.advance(by: .seconds(30))
        try handler.connect()
        harness.scheduler.advance(by: .seconds(600))
        #expect(handler.state == .connected)
        try handler.disconnect()
        harness.manager.signal(.foreground)
        harness.scheduler.advance(by: .seconds(600))
        #expect(handler.state == .disconnected)

        let other = PoolHarness()
        let suspended = try self.connected(other)
        other.manager.signal(.background)
        other.scheduler.advance(by: .seconds(30))
        try suspended.disconnect()
        other.manager.signal(.foreground)
        other.scheduler.advance(by: .seconds(600))
        #expect(suspended.state == .disconnected)
        #expect(suspended.status.progress == .idle)
    }

    @Test
    func `a suspended connection without a holder is released`() throws {
        let harness = PoolHarness()
        let handler = try self.connected(harness)
        harness.manager.signal(.background)
        harness.scheduler.advance(by: .seconds(30))
        handler.release()
        #expect(harness.manager.statistics.isEmpty)
    }

    // MARK: The chain

    @Test
    func `a rule before the standard ones keeps a connection up, and hears each signal once`() throws {
        let rule = LoopbackRule()
        let harness = PoolHarness(rules: [rule] + .standard)
        let own = try harness.connect("scripted://localhost")
        let other = try harness.connect("scripted://server")
        harness.scheduler.settle()
        harness.manager.signal(.pathLost)
        #expect(own.state == .connected)
        #expect(other.state == .reconnecting)
        harness.scheduler.advance(by: .seconds(60))
        #expect(rule.heard.value == 1)
    }

    @Test
    func `a signal sent by a rule follows the one being handled`() throws {
        let rule = EchoingRule()
        let harness = PoolHarness(rules: [rule] + .standard)
        rule.manager.withLock { $0 = harness.manager }
        let handler = try self.connected(harness)
        harness.manager.signal(.pathLost)
        #expect(handler.state == .reconnecting)
        harness.scheduler.advance(by: .seconds(1))
        #expect(handler.state == .connected, "the path came back while the keeper was told that it had gone")
    }
}

/// Keeps what does not need the network.
private struct LoopbackRule: KeeperRule {
    let heard = Counter()

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        guard connection.signal == .pathLost, connection.url.host == "localhost" else { return nil }
        self.heard.increment()
        return .keep
    }
}

/// Says that the path is back as soon as it is told that it has gone.
private final class EchoingRule: KeeperRule {
    let manager = Lock<ConnectionManager?>(nil)

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        if connection.signal == .pathLost { self.manager.withLock { $0.take() }?.signal(.pathAvailable) }
        return nil
    }
}

@Suite("The occasions that a keeper has yet to look for")
struct KeeperSurroundingsTests {
    @Test
    func `looks that follow one another are one, and the first to add an occasion looks for all`() {
        var surroundings = KeeperSurroundings()
        let occasions: [KeeperOccasion] = [.look, .look, .signal(.pathLost), .look, .look]
        let looks = occasions.map { surroundings.add($0) }
        #expect(looks == [true, false, false, false, false])
        for expected in [.look, .signal(.pathLost), .look, nil] as [KeeperOccasion?] {
            let next = surroundings.next()
            #expect(next == expected)
        }
        let looksAgain = surroundings.add(.look)
        #expect(looksAgain)
    }

    @Test
    func `only the timeout of the present stay in the background counts, and once`() {
        var surroundings = KeeperSurroundings()
        let first = surroundings.enterBackground() ?? 0
        let again = surroundings.enterBackground()
        _ = surroundings.add(.signal(.foreground))
        let late = surroundings.backgroundTimeoutPassed(first)
        let second = surroundings.enterBackground() ?? 0
        let former = surroundings.backgroundTimeoutPassed(first)
        #expect(again == nil && !late && !former && !surroundings.isInBackground)
        while surroundings.next() != nil {}
        let isFirst = surroundings.backgroundTimeoutPassed(second)
        let isAgain = surroundings.backgroundTimeoutPassed(second)
        #expect(isFirst && !isAgain && surroundings.isInBackground)
        let next = [surroundings.next(), surroundings.next()]
        #expect(next == [.signal(.background), nil])
    }
}
