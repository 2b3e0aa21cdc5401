import LinkspanKit
import Synchronization

final class MessageCounter: TrafficObserving {
    let name: ServiceName = "counter"
    private let counts = Mutex<[String: Int]>([:])

    func on(_ event: Stamped<TrafficEvent>, _ scope: ServiceScope) async throws {
        let (traffic, totals) = (event.event, event.event.totals)
        let key = "\(traffic.connection) \(traffic.event)"
        self.counts.withLock { $0[key] = totals.acknowledged }
    }

    func stop(_ scope: ServiceScope) async throws {
        let count = self.counts.withLock { $0.values.reduce(0, +) }
        print("\(count) message acknowledged")
    }
}
