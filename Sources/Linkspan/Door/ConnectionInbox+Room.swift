internal import DequeModule
internal import LinkspanRuntime

/// The room for commands on their way to the executor.
extension ConnectionInbox.State {
    /// Counts a command as on its way, if it may come and there is room.
    ///
    /// - Returns: the commands that had to be dropped on their way.
    /// - Throws: `released`, `bufferFull`, `disconnected`.
    mutating func admit(_ command: Command) throws(LinkspanError) -> [Command] {
        let keepsDeliveries = self.destination.options.keepsDeliveries
        if let refusal = self.shown.value.refusal(of: command, keepingDeliveries: keepsDeliveries) { throw refusal }
        let dropped = try self.makeRoom(for: command)
        self.arriving.add(command)
        if let key = command.replacedKey { self.arrivingKeys[key] = command.byteCount }
        return dropped
    }

    /// The size of the command whose place a command takes; nil when it takes none.
    private func sizeReplaced(by command: Command) -> Int? {
        command.replacedKey.flatMap { self.arrivingKeys[$0] ?? self.arrivedKeys[$0] ?? self.waitingKeys[$0] }
    }

    /// Sees to it that there is room for a command.
    ///
    /// Volatile commands take no room where commands wait, and those that replace another take what they are larger by; on
    /// their way they are bounded as well.
    ///
    /// - Returns: the commands that had to be dropped on their way.
    /// - Throws: `bufferFull`.
    mutating func makeRoom(for command: Command) throws(LinkspanError) -> [Command] {
        let (load, size) = (self.load, command.byteCount)
        if command.isOfDelivery {
            let limits = self.destination.options.deliveries.limits
            let hasRoom = load.deliveries < limits.commands && load.deliveryBytes + size <= limits.bytes
            guard load.deliveries == 0 || hasRoom else {
                throw LinkspanError(
                    .bufferFull, "'\(command.event)' refused: \(load.deliveries) deliveries are waiting",
                    certainty: .notSent)
            }
            return []
        }
        let replaced = command.isVolatile ? nil : self.sizeReplaced(by: command)
        if let replaced, replaced < size, !self.isOpen, load.commands > 1 {
            let buffer = self.destination.options.buffer
            guard buffer.overflow != .refuse || load.bytes + size - replaced <= buffer.bytes else {
                throw command.bufferFull(with: load)
            }
        }
        let takesRoom = !command.isVolatile && replaced == nil
        let (used, limits) = takesRoom ? (load, self.limits) : (self.arriving, ConnectionInbox.openLimit)
        if used.commands == 0 || limits.haveRoom(beside: used, for: size) { return [] }
        if let key = command.replacedKey, !takesRoom, self.arrivingKeys[key] != nil,
            let former = self.dropArriving(.dropOldest, where: { $0.replacedKey == key })
        {
            return [former]
        }
        guard limits.overflow != .refuse else { throw command.bufferFull(with: used) }
        // The core drops from what waits there; here only what is on its way is bounded.
        var dropped: [Command] = []
        while self.arriving.commands >= limits.commands || self.arriving.bytes + size > limits.bytes,
            let victim = self.dropArriving(limits.overflow, where: { !$0.isOfDelivery })
        { dropped.append(victim) }
        return dropped
    }

    /// The limits for commands that may wait: those of the buffer, and while the link takes commands at once, more.
    private var limits: BufferLimits {
        let buffer = self.destination.options.buffer
        return self.isOpen ? ConnectionInbox.openLimit.raised(to: buffer) : buffer
    }

    private mutating func dropArriving(
        _ overflow: BufferLimits.Overflow, where isMeant: (Command) -> Bool
    ) -> Command? {
        let isVictim: (ConnectionInbox.Item) -> Bool = { item in
            if case .command(let command, _) = item { isMeant(command) } else { false }
        }
        let index =
            overflow == .dropOldest ? self.items.firstIndex(where: isVictim) : self.items.lastIndex(where: isVictim)
        guard let index, case .command(let victim, _) = self.items.remove(at: index) else { return nil }
        self.arriving.remove(victim)
        return victim
    }
}

extension BufferLimits {
    fileprivate func haveRoom(beside used: ConnectionLoad, for size: Int) -> Bool {
        used.commands < self.commands && used.bytes + size <= self.bytes
    }

    /// The larger of each limit.
    fileprivate func raised(to other: Self) -> Self {
        var limits = self
        limits.commands = max(self.commands, other.commands)
        limits.bytes = max(self.bytes, other.bytes)
        return limits
    }
}

extension ConnectionFacts {
    // A method of the facts, because reading its properties from outside would copy all of them for each command.
    /// The reason why a command is not taken; nil when it is.
    fileprivate func refusal(of command: Command, keepingDeliveries keepsDeliveries: Bool) -> LinkspanError? {
        guard self.state != .released else {
            return LinkspanError(.released, "the connection has been released", certainty: .notSent)
        }
        guard let failure = self.failure, command.isRefused(keepingDeliveries: keepsDeliveries) else {
            return nil
        }
        return LinkspanError(failedForGood: failure)
    }
}
