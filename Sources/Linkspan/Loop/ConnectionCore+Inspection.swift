internal import LinkspanRuntime

// For a service that shows connections to developers: what only the executor knows, and faults on request.

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

extension ConnectionCore {
    /// Reads what an inspector shows, `asked` being the time of its question.
    func reading(asked: Moment) -> ConnectionReading {
        ConnectionReading(
            transport: self.destination.transport.name, inFlight: self.commands.awaited.count,
            oldest: self.commands.oldest, nextRenewal: self.credentials.renewalDeadline?.instant,
            isReadingPaused: self.isReadingPaused, turn: asked.duration(to: self.now))
    }

    /// Provokes a fault.
    func provoke(_ fault: ConnectionFault) {
        switch fault {
        case .dropLink: self.dropLink()
        case .pauseReading: self.setPaused(true, by: Self.inspector)
        case .resumeReading: self.setPaused(false, by: Self.inspector)
        case .refuseCredentialsOnce:
            self.refusesNext = true
            self.dropLink()
        }
    }

    /// Stands for an inspector among the listeners, whose numbers begin at 1.
    private static var inspector: UInt64 { .max }

    private func dropLink() {
        guard self.machine.state == .connected, let link = self.link, let epoch = self.epoch else { return }
        self.fail(link, epoch: epoch, LinkspanError(.connectionLost, "the inspector dropped the link"))
    }

    /// Ends a link that has just opened as if the server had refused the credentials.
    func refuseOnce(epoch: UInt64) {
        self.refusesNext = false
        guard let link = self.link else { return }
        self.fail(
            link, epoch: epoch, LinkspanError(.credentialsRefused, "the inspector refused the credentials once"))
    }

    private func fail(_ link: any Link, epoch: UInt64, _ error: LinkspanError) {
        let (now, random, hasSpoken) = (self.now, self.environment.random(), self.hasServerSpoken)
        self.link = nil
        self.endingLinks += 1
        self.effects.append(.endLink(link, politely: false))
        self.run { $0.linkClosed(epoch: epoch, error, hasSpoken: hasSpoken, now: now, random: random) }
    }
}

extension CommandStateMachine {
    /// The oldest command without an outcome.
    fileprivate var oldest: Command.ID? {
        var oldest = self.buffer.first
        let others = (self.awaited.count <= 4_096 ? self.awaited.requests.map(\.id) : []) + self.queues.heads
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
