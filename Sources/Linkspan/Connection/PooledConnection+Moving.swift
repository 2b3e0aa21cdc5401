internal import LinkspanRuntime

extension PooledConnection {
    func adjust(_ options: ConnectionOptions) throws(LinkspanError) {
        try self.checkNotReleased()
        let former = self.destination
        try former.options.checkFixed(options)
        self.update { core in
            core.adopt(options, self.timing(options), canRenewCredentials: former.credentials.isRenewable)
            self.moveIn(Destination(former, options: options))
        }
    }

    func move(to configuration: ConnectionConfiguration) throws(LinkspanError) {
        try self.checkNotReleased()
        let (former, options) = (self.destination, configuration.options)
        try former.options.checkFixed(options)
        let next = Destination(configuration, self.environment)
        let now = self.now
        self.environment.probe?.moved(
            to: ObservedConnection(id: self.id, endpoint: next.url.redacted, transport: next.transport.name))
        self.update { core in
            core.adopt(options, self.timing(options), canRenewCredentials: next.credentials.isRenewable)
            // Under the core's lock: attempts that are decided from here on find the new place, and none before it does.
            self.moveIn(next)
            core.run { $0.move(LinkspanError(.moved, "the connection moves to another endpoint"), now: now) }
        }
        self.environment.attempts.spend(now: now)
        former.credentials.linkEnded()
    }

    /// Lives in another place from now on; nothing of the former one is resumed.
    private func moveIn(_ next: Destination) {
        let former = self.place.withLock { place in
            defer { place = next }
            return place
        }
        if former.credentials !== next.credentials { self.latestLink.withLock { $0 = nil } }
    }

    private func timing(_ options: ConnectionOptions) -> ConnectionStateMachine.Timing {
        ConnectionStateMachine.Timing(options, attemptSpacing: self.environment.attempts.spacing)
    }
}

extension ConnectionOptions {
    /// Refuses options that differ in what cannot change while a connection lives.
    fileprivate func checkFixed(_ next: ConnectionOptions) throws(LinkspanError) {
        try next.validate()
        var names: [String] = []
        if self.deliveries.key != next.deliveries.key { names.append("deliveries.key") }
        if self.greeting?.name != next.greeting?.name { names.append("greeting") }
        if self.store?.name != next.store?.name { names.append("store") }
        guard names.isEmpty else {
            throw LinkspanError(
                .conflictingOptions, "a connection keeps for life: \(names.joined(separator: ", "))")
        }
    }
}
