internal import LinkspanRuntime

extension ConnectionManager {
    /// Sends a signal to the keeper.
    ///
    /// It acts before this returns, unless it is busy with a former signal, on this thread or another; then it does so
    /// right afterwards. Only `background` takes effect later: after ``Options/backgroundIdleTimeout``, unless the app has
    /// come back.
    package func signal(_ signal: KeeperSignal) {
        switch signal {
        case .pathLost, .pathAvailable, .foreground:
            self.look(for: .signal(signal))
        case .background:
            guard let stay = self.pool.withLock({ $0.surroundings.enterBackground() }) else { return }
            _ = self.options.scheduler.schedule(at: self.options.scheduler.now + self.options.backgroundIdleTimeout) {
                [weak self] in
                guard let self, self.pool.withLock({ $0.surroundings.backgroundTimeoutPassed(stay) }) else { return }
                self.look()
            }
        }
    }

    /// Takes the costs of the network path, by which connections save data or not; see ``Options/dataSaving``.
    package func pathCosts(isExpensive: Bool, isConstrained: Bool) {
        let savesData =
            switch self.options.dataSaving {
            case .never: false
            case .constrained: isConstrained
            case .expensive: isConstrained || isExpensive
            }
        let entries = self.pool.withLock { pool in
            defer { pool.surroundings.savesData = savesData }
            return savesData == pool.surroundings.savesData ? [] : pool.all
        }
        for entry in entries { self.followSaving(entry.connection) }
    }

    /// Has a connection save data or not, as the path's costs are when it comes to that.
    func followSaving(_ connection: PooledConnection) {
        connection.core.post { [pool = self.pool] core in
            core.sender.saveData(pool.withLock { $0.surroundings.savesData })
            core.meter.begin(core)
        }
    }
}
