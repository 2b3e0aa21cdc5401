import LinkspanKit
import Synchronization

final class MessageCounter: MessageObserving {
    let name: ServiceName = "counter"
    private let count = Mutex(0)

    func on(_ event: Stamped<MessageEvent>, _ scope: ServiceScope) async throws {
        guard case .acknowledged = event.event.kind else { return }
        self.count.withLock { $0 += event.event.count }
    }

    func stop(_ scope: ServiceScope) async throws {
        print("\(self.count.withLock { $0 }) message acknowledged")
    }
}
