internal import LinkspanRuntime

/// The facts about a connection that are known on its executor alone; no payload and no credential is among them.
package struct ConnectionReading: Sendable {
    /// The name of the transport.
    package var transport: String
    /// Commands that were sent and whose replies are awaited.
    package var inFlight: Int
    /// The oldest command without an outcome; nil when there is none.
    package var oldest: Command.ID?
    /// The time of the next renewal of the credentials; nil when none is planned.
    package var nextRenewal: ContinuousClock.Instant?
    /// Whether reading is paused, by a slow sequence or by ``ConnectionFault/pauseReading``.
    package var isReadingPaused: Bool
    /// The time between the question and its answer: the rest of the turn that the executor was in, and those before.
    package var turn: Duration
}

/// A fault that a developer provokes.
package enum ConnectionFault: Sendable, Hashable {
    /// Drops the link without a word to the server.
    case dropLink
    /// Reads no further, so that the server has to wait.
    case pauseReading
    /// Ends ``pauseReading``.
    case resumeReading
    /// Ends the next link, or the open one and the next, as if the server had refused the credentials.
    case refuseCredentialsOnce
}

/// A connection in the pool, as a service that shows it to developers sees it.
package struct InspectedConnection: Sendable {
    /// Identifies the connection in its process; the same number as in the events about it.
    package var id: UInt64 { self.connection.id }
    /// The number of its holders.
    package let holders: Int

    private let connection: PooledConnection

    fileprivate init(_ entry: ConnectionPool.Entry) {
        (self.connection, self.holders) = (entry.connection, entry.holders)
    }

    /// A snapshot; see ``Connection/status``.
    package var status: ConnectionStatus { self.connection.status }

    /// Reads the connection on its executor.
    ///
    /// - Parameter answer: gets the facts and the probe of the connection's observer, on the connection's executor; not
    ///   called for a connection that does not exist any more.
    package func read(_ answer: @escaping @Sendable (ConnectionReading, (any ConnectionProbe)?) -> Void) {
        let asked = self.connection.scheduler.moment
        self.connection.core.post { core in
            let reading = ConnectionReading(
                transport: core.destination.transport.name, inFlight: core.sender.outgoing.awaited.count,
                oldest: core.sender.outgoing.oldest, nextRenewal: core.credentials.deadline?.instant,
                isReadingPaused: core.sender.link?.isReadingPaused == true, turn: asked.duration(to: core.now))
            answer(reading, core.probe)
        }
    }

    /// Provokes a fault.
    package func provoke(_ fault: ConnectionFault) {
        self.connection.core.post { core in
            switch fault {
            case .dropLink: Self.dropLink(of: core)
            case .pauseReading: core.reader.incoming.setPaused(true, by: Self.inspector)
            case .resumeReading: core.reader.incoming.setPaused(false, by: Self.inspector)
            case .refuseCredentialsOnce:
                core.attempt {
                    $0.refusesNext = true
                    return []
                }
                Self.dropLink(of: core)
            }
        }
    }

    /// Stands for an inspector among the listeners, whose numbers begin at 1.
    private static var inspector: UInt64 { .max }

    private static func dropLink(of core: ConnectionCore) {
        guard core.attempts.state == .connected else { return }
        core.giveUpLink(LinkspanError(.connectionLost, "the inspector dropped the link"), nil)
    }
}

extension ConnectionManager {
    /// The connections in the pool, by their numbers.
    package var inspected: [InspectedConnection] {
        self.pool.withLock { $0.all }.map { InspectedConnection($0) }.sorted { $0.id < $1.id }
    }
}

extension ConnectionStatus {
    /// The words of ``Connection/explain()``.
    package var explanation: String { self.sentences.joined(separator: " ") }
}

extension Outgoing {
    /// The oldest command without an outcome.
    fileprivate var oldest: Command.ID? {
        var oldest = self.buffer.first
        let others =
            (self.awaited.count <= 4_096 ? self.awaited.requests.map(\.id) : []) + (self.deliveries?.queues.heads ?? [])
        for id in others where oldest.map({ id < $0 }) ?? true { oldest = id }
        return oldest
    }
}

extension Command.ID {
    /// A number for this moment: commands with a smaller one were made before it.
    package static var mark: Self { .next() }

    /// Whether it was made before another.
    package func isBefore(_ other: Self) -> Bool { self < other }
}
