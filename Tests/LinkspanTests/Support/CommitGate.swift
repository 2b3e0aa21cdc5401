internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting

/// Holds the rows that a store is to commit until the test decides about them.
final class CommitGate: Sendable {
    private typealias Decide = @Sendable ((any Error)?) -> Void

    private let held = Lock<[(event: String, decide: Decide)]>([])

    init(_ store: MemoryDeliveryStore) {
        store.onCommit { [self] row, decide in self.held.withLock { $0.append((row.event, decide)) } }
    }

    /// The events of the rows that wait, in the order in which they came.
    var events: [String] { self.held.withLock { $0.map(\.event) } }

    func commit(_ event: String) { self.decide(event, nil) }
    func refuse(_ event: String) { self.decide(event, CancellationError()) }

    private func decide(_ event: String, _ error: (any Error)?) {
        let decide = self.held.withLock { held in
            held.firstIndex { $0.event == event }.map { held.remove(at: $0).decide }
        }
        decide?(error)
    }
}

extension MemoryDeliveryStore {
    /// The events of the committed rows without an outcome.
    var waiting: [String] { self.rows.filter { $0.outcome == nil }.map(\.event) }

    /// The code with which a delivery ended; nil when it waits or was answered.
    func failure(_ event: String) -> LinkspanError.Code? {
        guard case .failure(let error) = self.rows.first(where: { $0.event == event })?.outcome else { return nil }
        return error.code
    }
}
