internal import LinkspanRuntime

extension ConnectionManager {
    /// Sends a signal to the keeper.
    ///
    /// It acts before this returns, unless it is busy with a former signal, on this thread or another; then it does so
    /// right afterwards. Only `background` takes effect later: after the idle timeout, unless the app
    /// has come back.
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
}
