internal import LinkspanRuntime

/// The instants at which commands expire, and at which they leave the buffer: held back, or waiting for too long.
struct CommandDeadlines {
    private var expiries = DeadlineQueue()
    private var ages = DeadlineQueue()

    /// The earliest of them.
    var earliest: Moment? { .earliest(self.expiries.earliest, self.ages.earliest) }

    /// Whether ``earliest`` may have become earlier since the last call of this function.
    mutating func takeEarlier() -> Bool {
        guard self.expiries.isEarlier || self.ages.isEarlier else { return false }
        (self.expiries.isEarlier, self.ages.isEarlier) = (false, false)
        return true
    }

    /// Whether most may be those of commands that are gone, `living` being how many there are at most.
    func isSparse(living: Int) -> Bool { self.expiries.isSparse(living: living) }

    /// Forgets the commands that are gone.
    mutating func compact(keeping isAlive: (Command.ID) -> Bool) { self.expiries.compact(keeping: isAlive) }

    /// Notes when a command expires.
    mutating func expire(_ id: Command.ID, at instant: Moment) { self.expiries.insert(id, at: instant) }

    /// Notes when a command leaves the buffer.
    mutating func age(_ id: Command.ID, at instant: Moment, in buffer: CommandBuffer) {
        if self.ages.isSparse(living: buffer.count) { self.ages.compact { buffer.contains($0) } }
        self.ages.insert(id, at: instant)
    }

    /// Takes the next command that has expired.
    mutating func popExpired(now: Moment) -> Command.ID? { self.expiries.popExpired(now: now) }

    /// Takes the next command that is to leave the buffer.
    mutating func popAged(now: Moment) -> Command.ID? { self.ages.popExpired(now: now) }
}
