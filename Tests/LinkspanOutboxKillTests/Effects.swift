#if OUTBOX
internal import TestSupport
internal import Linkspan
internal import LinkspanInMemory
internal import LinkspanRuntime

/// A server that recognises keys: it applies each once, and answers a repetition with the first reply.
final class Effects: Sendable {
    struct Record: Sendable {
        /// What was applied, by room, in its order.
        var applied: [String: [String]] = [:]
        var replies: [String: Payload] = [:]
        /// How often something came that was there already.
        var repetitions = 0
        /// How much has come.
        var arrivals = 0
    }

    let hub = InMemoryHub()
    private let state = Lock(Record())
    private let onArrival = Lock<@Sendable (Int) -> Bool>({ _ in true })

    init() {
        self.hub.onConnect { [self] peer in
            peer.on("say") { [self] message in
                guard let reply = self.take(message.payload) else { return }
                message.reply(reply)
            }
        }
    }

    var record: Record { self.state.withLock { $0 } }

    /// Has a handler hear of each arrival from now on, once it is applied; one that it answers with false gets no reply.
    func onArrival(_ handler: @escaping @Sendable (_ number: Int) -> Bool) {
        self.state.withLock { $0.arrivals = 0 }
        self.onArrival.withLock { $0 = handler }
    }

    private func take(_ payload: Payload) -> Payload? {
        let values = payload.values
        guard let text = values.first?.string, let key = values.last?.string else { return nil }
        let (reply, number) = self.state.withLock { record -> (Payload, Int) in
            record.arrivals += 1
            if let former = record.replies[key] {
                record.repetitions += 1
                return (former, record.arrivals)
            }
            let room = String(text.split(separator: "-")[1])
            record.applied[room, default: []].append(text)
            let reply = Payload(trustedElements: Array("\(record.replies.count)".utf8)[...])
            record.replies[key] = reply
            return (reply, record.arrivals)
        }
        return self.onArrival.withLock { $0 }(number) ? reply : nil
    }
}
#endif
