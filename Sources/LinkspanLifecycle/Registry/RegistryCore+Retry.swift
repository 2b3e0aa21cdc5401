internal import LinkspanRuntime

/// Starting optional services again that have failed to start.
extension RegistryCore {
    /// Starts a service again after a while, if its start threw and the registry goes on without it.
    func retryLater(_ id: ServiceID) {
        guard let first = self.options.retryDelay, let failures = self.machine({ $0.failuresToRetry(id) }) else {
            return
        }
        let delay = min(first * (1 << min(failures - 1, 20)), max(first, self.options.retryCap))
        _ = self.scheduler.schedule(at: self.later(delay)) { [weak self] in self?.retry(id) }
    }

    private func retry(_ id: ServiceID) {
        ServiceThreads.beginHousekeeping {
            switch self.machine({ $0.claimRetry(id) }) {
            case .begin(let member): await self.retry(member)
            // The registry is still starting.
            case .later: self.retryLater(id)
            case .never: ()
            }
        }
    }

    private func retry(_ member: Member) async {
        let limit = self.later(member.entry.budgets.stop)
        // The failed start may have left something.
        let outcome = await self.call(member, until: limit) { service, scope in try await service.stop(scope) }
        if case .abandoned = outcome {
            return self.settle(member, .abandoned)
        }
        self.renewMailbox(member)
        await self.startOne(member, from: member.state, until: self.later(member.entry.budgets.start))
    }

    /// Gives a service a mailbox again: that of its failed start is gone.
    func renewMailbox(_ member: Member) {
        self.addMailbox(member.entry)
        self.fanout { $0.rename(member.entry.id, to: member.path) }
    }
}
