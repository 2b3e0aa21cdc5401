import Foundation
import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanSocketIO
import Synchronization

/// Fan-out: how long a message takes to be sent and acknowledged, without services and with a hundred of which ten block.
///
/// Both live in this process and take turns, one message under way, so that a disturbance of the machine hits both alike.
enum FanoutWorkload {
    private static let rounds = 20
    private static let messages = 250

    static func run(port: Int) async throws {
        let gate = Gate()
        let counters = (1...90).map { Counter(name: ServiceName("counter\($0)")) }
        let blockers = (1...10).map { Blocker(name: ServiceName("blocker\($0)"), gate: gate) }
        let alone = try await Self.begin(port, "alone", [])
        let crowd = try await Self.begin(port, "crowd", counters + blockers)
        print("fan-out to 100 services that hear every event, 10 of which block: sent and acknowledged, median µs")
        print("pace                 no services   100 services   ratio   heard by each")
        // A thousand a second leaves the services time for their own work; back to back they compete for the machine.
        for (name, pause) in [("1,000 a second", Duration.milliseconds(1)), ("back to back", nil)] {
            let before = counters.map { $0.heard.withLock { $0 } }
            var (without, with) = ([Double](), [Double]())
            for round in 0...Self.rounds {
                let first = try await Self.roundTrips(alone.connection, pause: pause)
                let second = try await Self.roundTrips(crowd.connection, pause: pause)
                // The first round warms up.
                guard round > 0 else { continue }
                without += first
                with += second
            }
            let heard = zip(counters, before).map { counter, before in counter.heard.withLock { $0 } - before }
            let (low, high) = (without.sorted()[without.count / 2], with.sorted()[with.count / 2])
            print(
                name.padding(toLength: 18, withPad: " ", startingAt: 0)
                    + String(format: "%14.1f %14.1f %7.3f", low, high, high / low)
                    + "   \(heard.min() ?? 0) of \(2 * Self.messages * (Self.rounds + 1))")
        }
        gate.open()
        await alone.messaging.stop()
        await crowd.messaging.stop()
    }

    private static func begin(
        _ port: Int, _ path: String, _ services: [any LifecycleService]
    ) async throws -> (messaging: Messaging, connection: ConnectionHandler) {
        var plan = MessagingPlan(url: "http://127.0.0.1:\(port)?\(path)", transport: SocketIOTransport())
        plan.services = services.map { PlannedService($0) }
        let messaging = try await Messaging.start(plan)
        let connection = try await messaging.connect()
        for await change in connection.stateChanges where change.to == .connected { break }
        return (messaging, connection)
    }

    /// How many microseconds each of some messages took.
    private static func roundTrips(_ connection: ConnectionHandler, pause: Duration?) async throws -> [Double] {
        var times: [Double] = []
        let text = String(repeating: "x", count: 64)
        for _ in 0..<Self.messages {
            if let pause { try await Task.sleep(for: pause) }
            let start = ContinuousClock.now
            _ = try await connection.request("ack", text)
            let time = start.duration(to: .now)
            times.append(Double(time.components.attoseconds) / 1e12 + Double(time.components.seconds) * 1e6)
        }
        return times
    }
}

/// Counts what it hears.
private final class Counter: AnyEventObserving {
    let name: ServiceName
    let urgency: Urgency = .utility
    let heard = Mutex(0)

    init(name: ServiceName) { self.name = name }

    func on(_ event: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws {
        self.heard.withLock { $0 += 1 }
    }
}

/// Blocks the thread it is called on.
private final class Blocker: AnyEventObserving {
    let name: ServiceName
    private let gate: Gate

    init(name: ServiceName, gate: Gate) {
        self.name = name
        self.gate = gate
    }

    func on(_ event: Stamped<any LifecycleEvent>, _ scope: ServiceScope) async throws { self.gate.wait() }
}

/// What blockers wait for.
private final class Gate: Sendable {
    private let condition = NSCondition()
    private let isOpen = Mutex(false)

    func wait() {
        self.condition.lock()
        while !self.isOpen.withLock({ $0 }) { self.condition.wait() }
        self.condition.unlock()
    }

    func open() {
        self.isOpen.withLock { $0 = true }
        self.condition.lock()
        self.condition.broadcast()
        self.condition.unlock()
    }
}
