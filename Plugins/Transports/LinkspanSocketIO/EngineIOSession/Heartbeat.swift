internal import Linkspan
internal import LinkspanRuntime

/// The heartbeat: the side that pings, and the deadline of the other's silence.
struct Heartbeat: Sendable {
    /// The result of a look at the clock.
    enum TimerOutcome: Sendable {
        case nothing
        case sendPing
        case end(LinkspanError)
    }

    private enum Role: Sendable {
        /// The server pings (version 4).
        case listening(since: Moment)
        /// This side pings (version 3): when it does next.
        case resting(until: Moment)
        /// This side has pinged at an instant: the deadline of the answer.
        case awaitingPong(since: Moment, deadline: Moment)
    }

    private let interval: Duration
    private let timeout: Duration
    private var role: Role
    /// The instant of the last received byte, as reported by ``heard(at:)``.
    private var lastHeard: Moment

    init(_ handshake: EngineIOHandshake, version: EngineIOVersion, now: Moment) {
        self.interval = handshake.pingInterval
        self.timeout = handshake.pingTimeout
        self.lastHeard = now
        switch version {
        case .v4: self.role = .listening(since: now)
        case .v3: self.role = .resting(until: now.advanced(by: self.interval))
        }
    }

    /// The instant at which ``timer(now:)`` has to be called next.
    var due: Moment {
        switch self.role {
        case .listening(let since): since.advanced(by: self.interval + self.timeout)
        case .resting(let until): until
        case .awaitingPong(_, let deadline): deadline
        }
    }

    /// The instant at which silence is the end, if nothing comes until then.
    var end: Moment {
        guard case .resting(let until) = self.role else { return self.due }
        // Bytes received after the time to ping prove that the server lives, as a pong would.
        return max(until, self.lastHeard).advanced(by: self.timeout)
    }

    /// Something has come, whatever it was: the server lives.
    mutating func heard(at instant: Moment) {
        self.lastHeard = max(self.lastHeard, instant)
        switch self.role {
        case .listening(let since): self.role = .listening(since: max(since, instant))
        case .awaitingPong(let since, let deadline):
            self.role = .awaitingPong(since: since, deadline: max(deadline, instant.advanced(by: self.timeout)))
        // The time of the next ping stays.
        case .resting: ()
        }
    }

    mutating func heardPing(now: Moment) {
        if case .listening = self.role { self.role = .listening(since: now) }
    }

    /// The other side has answered.
    ///
    /// - Returns: the time that took; nil when nothing was asked.
    mutating func heardPong(now: Moment) -> Duration? {
        guard case .awaitingPong(let since, _) = self.role else { return nil }
        self.role = .resting(until: now.advanced(by: self.interval))
        return since.duration(to: now)
    }

    mutating func timer(now: Moment) -> TimerOutcome {
        guard now >= self.due else { return .nothing }
        switch self.role {
        case .listening:
            return .end(LinkspanError(.heartbeatMissed, "no Engine.IO ping for \(self.interval + self.timeout)"))
        // A process that was suspended has missed its own time, and its peer has given it up.
        case .resting where now >= self.end:
            return .end(LinkspanError(.heartbeatMissed, "the time for an Engine.IO ping was missed"))
        case .resting:
            self.role = .awaitingPong(since: now, deadline: now.advanced(by: self.timeout))
            return .sendPing
        case .awaitingPong: return .end(LinkspanError(.heartbeatMissed, "no Engine.IO pong for \(self.timeout)"))
        }
    }
}
