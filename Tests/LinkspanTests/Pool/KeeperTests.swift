@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("The keeper", .timeLimit(.minutes(1)))
struct KeeperTests {
    @Test
    func `the first rule that can, does, and the chain stops`() throws {
        let recorder = EventRecorder()
        let harness = PoolHarness(rules: [
            NotingRule("never", recorder, canExecute: false), NotingRule("first", recorder),
            NotingRule("second", recorder),
        ])
        let handler = try harness.connect()
        harness.manager.look(for: .look)
        #expect(recorder.notes == ["first"])
        withExtendedLifetime(handler) {}
    }

    @Test
    func `rules are asked after the shortest period of one, and no more when the pool is empty`() throws {
        let recorder = EventRecorder()
        let harness = PoolHarness(rules: [
            NotingRule("look", recorder, period: .seconds(7)), NotingRule("never", recorder, period: .seconds(20)),
            ReleaseRule(),
        ])
        let handler = try harness.connect()
        harness.scheduler.advance(by: .seconds(21))
        #expect(recorder.notes == ["look", "look", "look"])
        withExtendedLifetime(handler) {}

        let other = PoolHarness(rules: [CountingRule()] + .standard)
        try other.connect { $0.idleTimeout = .zero }.release()
        #expect(other.scheduler.runUntilIdle(limit: .seconds(60)))
        let again = try other.connect()
        other.scheduler.advance(by: .seconds(60))
        #expect(other.scheduler.pendingCount > 0, "they are asked again once there is something to ask about")
        withExtendedLifetime(again) {}
    }

    @Test
    func `nothing is due while connections rest, also after holders have come and gone`() throws {
        let harness = PoolHarness()
        let handlers = try (0..<3).map { try harness.connect("scripted://server/\($0)") }
        // The time limits of their attempts.
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.scheduler.pendingCount == 0)
        for _ in 0..<3 {
            try harness.connect("scripted://server/0").release()
            // Nobody holds it for a moment.
            let other = try harness.connect("scripted://server/3") { $0.idleTimeout = .seconds(600) }
            harness.scheduler.advance(by: .seconds(60))
            other.release()
            harness.scheduler.settle()
            #expect(harness.scheduler.pendingCount == 1, "the end of an idle timeout")
            let next = try harness.connect("scripted://server/3") { $0.idleTimeout = .seconds(600) }
            #expect(harness.scheduler.pendingCount == 0)
            next.release()
        }
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.manager.statistics.count == 3)
        harness.scheduler.advance(by: ConnectionPool.memory)
        #expect(harness.scheduler.pendingCount == 0)
        #expect(handlers.allSatisfy { $0.state == .connected })
    }

    @Test
    func `unoccupied and then given up for good: released, long before its idle timeout`() throws {
        let harness = PoolHarness { number in number == 1 ? .perfect : .refusing(.permanent) }
        let handler = try harness.connect { $0.idleTimeout = .seconds(600) }
        harness.scheduler.settle()
        handler.release()
        #expect(harness.manager.statistics.map(\.status.state) == [.connected])
        harness.transport.openPeers.first?.drop()
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.manager.statistics.isEmpty)
    }

    @Test
    func `a connection that was released is forgotten when its links have had the time to close`() throws {
        let harness = PoolHarness()
        weak var connection: PooledConnection?
        do {
            let handler = try harness.connect { $0.idleTimeout = .zero }
            connection = handler.connection
            harness.scheduler.settle()
        }
        #expect(harness.manager.statistics.isEmpty)
        harness.scheduler.advance(by: ConnectionPool.memory - .nanoseconds(1))
        #expect(connection != nil, "a log-out may wait for it")
        harness.scheduler.advance(by: .nanoseconds(1))
        #expect(connection == nil)
    }

    @Test(arguments: [Duration.seconds(20), .seconds(60)])
    func `an idle timeout that changes counts from the release`(timeout: Duration) throws {
        let harness = PoolHarness()
        let handler = try harness.connect { $0.idleTimeout = .seconds(30) }
        harness.scheduler.settle()
        handler.release()
        harness.scheduler.advance(by: .seconds(10))
        let changed = ConnectionOptions { $0.idleTimeout = timeout }
        #expect(try harness.manager.adjust(handler.connection, changed))
        harness.scheduler.advance(by: timeout - .seconds(10) - .nanoseconds(1))
        #expect(harness.manager.statistics.map(\.status.state) == [.connected])
        harness.scheduler.advance(by: .nanoseconds(1))
        #expect(harness.manager.statistics.isEmpty)
    }

    @Test
    func `a rule that connects again what fails for good does so at its period`() throws {
        let harness = PoolHarness(rules: [StubbornRule()] + .standard) { $0 < 100 ? .refusing(.permanent) : .hanging }
        let handler = try harness.connect { $0.idleTimeout = .seconds(600) }
        handler.release()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.transport.peers.count <= 60 / 5 * 4 + 4, "at most four times for each look")
    }

    @Test
    func `a release has the rules look at one connection, however many there are`() throws {
        let looks = try [10, 200].map { count in
            let rule = CountingRule()
            let harness = PoolHarness(rules: [rule] + .standard)
            let handlers = try (0..<count).map { number in
                try harness.connect("scripted://server/\(number)") { $0.idleTimeout = .seconds(1) }
            }
            harness.scheduler.settle()
            let before = rule.count
            for handler in handlers.prefix(5) { handler.release() }
            harness.scheduler.advance(by: .seconds(1))
            #expect(harness.manager.statistics.count == count - 5)
            withExtendedLifetime(handlers) {}
            return rule.count - before
        }
        #expect(looks[0] == looks[1] && looks[0] <= 20, "\(looks) looks for 5 releases")
    }

    @Test
    func `a rule sees how long a connection has been idle, and zero while anybody holds it`() throws {
        let recorder = EventRecorder()
        let harness = PoolHarness(rules: [IdleTimeRule(recorder: recorder)])
        let handler = try harness.connect { $0.idleTimeout = .seconds(600) }
        harness.scheduler.settle()
        handler.release()
        harness.scheduler.advance(by: .seconds(10))
        harness.manager.look(for: .look)
        #expect(recorder.notes.last == "10.0 seconds")
        let next = try harness.connect { $0.idleTimeout = .seconds(600) }
        harness.scheduler.advance(by: .seconds(10))
        harness.manager.look(for: .look)
        #expect(recorder.notes.last == "0.0 seconds")
        try harness.connect { $0.idleTimeout = .seconds(600) }.release()
        harness.scheduler.advance(by: .seconds(10))
        harness.manager.look(for: .look)
        #expect(recorder.notes.last == "0.0 seconds", "one of two holders is left")
        withExtendedLifetime(next) {}
    }

    @Test
    func `unoccupied and connected: down after the idle timeout, then released`() throws {
        let harness = PoolHarness()
        let recorder = EventRecorder()
        let handler = try harness.connect { $0.idleTimeout = .seconds(7) }
        _ = handler.connection.onStateChange { recorder.record(.state($0)) }
        harness.scheduler.settle()
        handler.release()
        harness.scheduler.advance(by: .milliseconds(6_999))
        #expect(recorder.states == [.connected])
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(recorder.states == [.connected, .disconnected, .released])
        guard case .unoccupied = recorder.changes[1].reason else {
            Issue.record("the reason is \(recorder.changes[1].reason)")
            return
        }
    }

    @Test(arguments: [LinkScript.hanging, .refusing(.lost)])
    func `unoccupied and not yet connected, or reconnecting: gives up after the idle timeout`(script: LinkScript) throws
    {
        let harness = PoolHarness { _ in script }
        let handler = try harness.connect()
        harness.scheduler.advance(by: .seconds(1))
        handler.release()
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.manager.statistics.isEmpty)
        let attempts = harness.transport.peers.count
        harness.scheduler.advance(by: .seconds(600))
        #expect(harness.transport.peers.count == attempts)
    }

    @Test
    func `unoccupied and disconnected: released at once`() throws {
        let harness = PoolHarness { _ in .refusing(.permanent) }
        let handler = try harness.connect()
        harness.scheduler.settle()
        #expect(handler.state == .disconnected)
        handler.release()
        #expect(harness.manager.statistics.isEmpty)
    }

    @Test
    func `occupied and disconnected by request: stays down until someone connects`() throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        harness.scheduler.settle()
        try handler.disconnect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(handler.state == .disconnected)
        try handler.connect()
        harness.scheduler.settle()
        #expect(handler.state == .connected)
    }

    @Test
    func `occupied and never connected: connects`() throws {
        var kept = KeptConnection(url: try ConnectionURL("scripted://a"), state: .created)
        #expect(kept.holders == 1 && kept.idleTime == .zero && kept.idleTimeout == .zero)
        guard case .connect = ReconnectRule().decide(kept)?.kind else {
            Issue.record("it does not connect")
            return
        }
        kept.isAttempting = true
        #expect(ReconnectRule().decide(kept) == nil, "its attempt is under way")
    }

    @Test
    func `an app's rule comes first: disconnects, keeps down, and connects again`() throws {
        let isNight = Lock(false)
        let harness = PoolHarness(rules: [NightRule { isNight.withLock { $0 } }] + .standard)
        let archive = try harness.connect("scripted://archive")
        let other = try harness.connect("scripted://server")
        harness.scheduler.settle()
        isNight.withLock { $0 = true }
        harness.scheduler.advance(by: .seconds(5))
        #expect(archive.state == .disconnected && other.state == .connected)
        harness.scheduler.advance(by: .seconds(60))
        #expect(archive.state == .disconnected)
        isNight.withLock { $0 = false }
        harness.scheduler.advance(by: .seconds(6))
        #expect(archive.state == .connected)
        archive.release()
        other.release()
    }

    @Test
    func `a rule that releases takes nothing from a holder, and everything from nobody`() throws {
        let harness = PoolHarness(rules: [ReleasingRule()] + .standard)
        let handler = try harness.connect { $0.idleTimeout = .seconds(600) }
        harness.scheduler.advance(by: .seconds(60))
        #expect(handler.state == .connected)
        handler.release()
        #expect(harness.manager.statistics.isEmpty)
    }

    @Test
    func `rules that undo what others do end a look all the same`() throws {
        let rule = FlippingRule()
        let harness = PoolHarness(rules: [rule])
        let handler = try harness.connect()
        harness.scheduler.settle()
        let before = rule.count
        harness.manager.look(for: .look)
        #expect(rule.count - before <= 4)
        handler.release()
    }

    @Test
    func `a holder that comes when the connection is about to be taken down keeps it up`() throws {
        let rule = InterferingRule()
        let recorder = EventRecorder()
        let harness = PoolHarness(rules: [ReconnectRule(), rule])
        let first = try harness.connect()
        _ = first.connection.onStateChange { recorder.record(.state($0)) }
        harness.scheduler.settle()
        let late = Lock<ConnectionHandler?>(nil)
        rule.beforeRetiring {
            let handler = try? harness.connect()
            late.withLock { $0 = handler }
        }
        first.release()
        harness.scheduler.advance(by: .seconds(10))
        #expect(late.withLock { $0?.state } == .connected)
        #expect(recorder.states == [.connected])
        late.withLock { $0 }?.release()
    }

    @Test
    func `a holder that comes when the connection has been taken down gets a new one`() throws {
        let harness = PoolHarness()
        let first = try harness.connect { $0.idleTimeout = .zero }
        harness.scheduler.settle()
        let late = Lock<ConnectionHandler?>(nil)
        _ = first.connection.onStateChange { change in
            guard change.to == .disconnected else { return }
            let handler = try? harness.connect { $0.idleTimeout = .zero }
            late.withLock { $0 = handler }
        }
        first.release()
        harness.scheduler.settle()
        #expect(first.state == .released)
        #expect(late.withLock { $0?.state } == .connected)
        #expect(harness.manager.statistics.map(\.holders) == [1])
    }

    @Test(arguments: 0..<20)
    func `holders that come and go on many threads always find a connection that works`(round: Int) async throws {
        let manager = ConnectionManager(
            options: .init {
                $0.rules.append(CountingRule(period: .milliseconds(1)))
            })
        let transport = InstantTransport()
        let configuration = try ConnectionBuilder("instant://server").transport(transport).options {
            $0.idleTimeout = .zero
        }
        .build()
        try await withThrowingDiscardingTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<50 {
                        let handler = try manager.connect(configuration)
                        _ = try await handler.request("echo", timeout: .seconds(20))
                        handler.release()
                    }
                }
            }
        }
        // The keeper's own thread may still be about to end the last ones.
        try await eventually("a link is left open") { manager.statistics.isEmpty && transport.openLinks == 0 }
    }
}

/// Counts how often it is asked, and does nothing.
private final class CountingRule: KeeperRule {
    let period: Duration?
    private let asked = Lock(0)

    init(period: Duration? = .seconds(5)) { self.period = period }

    var count: Int { self.asked.withLock { $0 } }

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        self.asked.withLock { $0 += 1 }
        return nil
    }
}

private struct IdleTimeRule: KeeperRule {
    let recorder: EventRecorder

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        self.recorder.note("\(connection.idleTime)")
        return nil
    }
}

private struct NotingRule: KeeperRule {
    let name: String
    let recorder: EventRecorder
    let canExecute: Bool
    let period: Duration?

    init(_ name: String, _ recorder: EventRecorder, canExecute: Bool = true, period: Duration? = nil) {
        self.name = name
        self.recorder = recorder
        self.canExecute = canExecute
        self.period = period
    }

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        guard self.canExecute else { return nil }
        self.recorder.note(self.name)
        return .keep
    }
}

/// Releases like ``ReleaseRule``, with a gap in which something else can happen.
private final class InterferingRule: KeeperRule {
    private let interference = Lock<(@Sendable () -> Void)?>(nil)

    func beforeRetiring(_ body: @escaping @Sendable () -> Void) { self.interference.withLock { $0 = body } }

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        guard let action = ReleaseRule().decide(connection) else { return nil }
        let body = self.interference.withLock { $0.take() }
        body?()
        return action
    }
}

/// Has no connection to the archive at night.
private struct NightRule: KeeperRule {
    let isNight: @Sendable () -> Bool

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        guard connection.url.host == "archive" else { return nil }
        if self.isNight() { return connection.state == .connected ? .disconnect : .keep }
        return connection.state == .disconnected ? .connect : nil
    }
}

/// Connects whatever is down.
private struct StubbornRule: KeeperRule {
    func decide(_ connection: KeptConnection) -> KeeperAction? {
        connection.state == .disconnected ? .connect : nil
    }
}

private struct ReleasingRule: KeeperRule {
    func decide(_ connection: KeptConnection) -> KeeperAction? { .release }
}

/// Closes what is open, and opens what is closed.
private final class FlippingRule: KeeperRule {
    private let asked = Lock(0)

    var count: Int { self.asked.withLock { $0 } }

    func decide(_ connection: KeptConnection) -> KeeperAction? {
        self.asked.withLock { $0 += 1 }
        return connection.state == .disconnected ? .connect : .disconnect
    }
}
