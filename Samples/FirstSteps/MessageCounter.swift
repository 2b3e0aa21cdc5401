import LinkspanKit
import Synchronization

final class MessageCounter: TrafficObserving {
    let name: ServiceName = "counter"
    private let counts = Mutex<[String: Int]>([:])

    func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws {
        let traffic = event.event
        self.counts.withLock { $0["\(traffic.connection) \(traffic.event)"] = traffic.totals.acknowledged }
    }

    func stop(_ scope: ServiceScope) async throws {
        print("\(self.counts.withLock { $0.values.reduce(0, +) }) message acknowledged")
    }
}
