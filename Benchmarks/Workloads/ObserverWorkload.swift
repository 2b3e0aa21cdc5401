import Foundation
import Linkspan
import LinkspanLifecycle
import LinkspanMessaging
import LinkspanSocketIO
import Synchronization

/// W12: what a message costs while 0, 1, 10 and 100 services follow the traffic, back to back and at 50,000 a second, and whether
/// their totals are right.
enum ObserverWorkload {
    static func run(server: EchoServer) async throws {
        for observers in [0, 1, 10, 100] { try await Self.run(observers, server: server) }
        try await Self.run(100, pace: 50_000, server: server)
    }

    static func run(_ observers: Int, pace: Int? = nil, server: EchoServer) async throws {
        let counters = (0..<observers).map { MessageTotal(name: ServiceName("total\($0)")) }
        var plan = MessagingPlan(
            url: "http://127.0.0.1:\(server.port)/?observers=\(observers)&pace=\(pace ?? 0)",
            transport: SocketIOTransport())
        plan.services = counters.map { PlannedService($0) }
        let messaging = try await Messaging.start(plan)
        let connection = try await messaging.connect()
        for await change in connection.stateChanges where change.to == .connected { break }
        let text = String(repeating: "x", count: 64)
        let count = Length.of(100_000)
        let window = Window { try? connection.send("echo", text) }
        try connection.on("echo") { message in
            precondition(message.payload[0]?.text.count == 66, "the echo is not what was sent")
            window.cameBack()
        }
        await Self.exchange(window, connection, text, count / 20, pace)
        let measurement = Measurement(server: server)
        await Self.exchange(window, connection, text, count, pace)
        measurement.report("W12 \(observers)\(pace == nil ? "" : " paced")", messages: count)
        // The stop lets everything out that waits.
        await messaging.stop()
        let expected = count + count / 20
        for counter in counters {
            let (sent, received, events) = counter.total.withLock { $0 }
            guard sent == expected, received == expected else {
                fatalError("\(counter.name): \(sent) sent and \(received) received of \(expected)")
            }
            if counter === counters.last {
                print("W12 \(observers): \(2 * expected) messages in \(events) events, the totals exact")
            }
        }
    }

    private static func exchange(
        _ window: Window, _ connection: ConnectionHandler, _ text: String, _ count: Int, _ pace: Int?
    ) async {
        guard let pace else { return await window.run(count, width: 64) }
        window.expect(count, underWay: count)
        // Batches of a millisecond.
        var (sent, start) = (0, ContinuousClock.now)
        while sent < count {
            for _ in 0..<min(pace / 1_000, count - sent) { try? connection.send("echo", text) }
            sent += min(pace / 1_000, count - sent)
            start += .milliseconds(1)
            try? await Task.sleep(until: start)
        }
        await window.all()
    }
}

/// Keeps the totals of its one connection and event.
private final class MessageTotal: TrafficObserving {
    let name: ServiceName
    let urgency: Urgency = .utility
    let total = Mutex((sent: 0, received: 0, events: 0))

    init(name: ServiceName) { self.name = name }

    func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws {
        let totals = event.event.totals
        self.total.withLock { $0 = (totals.sent, totals.received, $0.events + 1) }
    }
}
