internal import LinkspanRuntime

/// Measuring the round trip by an event, where the app names one.
extension ConnectionCore {
    /// Begins to measure over the open link, and ends what was begun before.
    func beginProbing() {
        self.probing &+= 1
        guard self.machine.state == .connected, self.destination.options.probeEvent != nil else { return }
        self.probeLater(self.probing)
    }

    private func probeLater(_ number: UInt64) {
        _ = self.later(at: self.now + self.destination.options.probeInterval) { $0.measure(number) }
    }

    private func measure(_ number: UInt64) {
        guard number == self.probing, self.machine.state == .connected,
            let event = self.destination.options.probeEvent
        else { return }
        // Behind a backlog the backlog would be measured.
        guard self.commands.isOpen else { return self.probeLater(number) }
        let (inbox, reference, scheduler, start) = (self.inbox, self.reference, self.environment.scheduler, self.now)
        let command = Command(
            .request, event: event, payload: .empty, timeout: self.destination.options.probeInterval
        ) { outcome in
            let end = scheduler.moment
            inbox.post({ $0.measured(number, outcome.map { _ in start.duration(to: end) }) }, to: reference)
        }
        self.probingCommand = command.id
        do throws(LinkspanError) {
            try self.accept(command)
        } catch {
            self.probeLater(number)
        }
    }

    /// Whether a command was sent to measure the round trip, which services are told as such.
    func isMeasurement(_ id: Command.ID) -> Bool { id == self.probingCommand }

    private func measured(_ number: UInt64, _ outcome: Result<Duration, LinkspanError>) {
        guard number == self.probing, self.machine.state == .connected else { return }
        if case .success(let roundTrip) = outcome {
            self.inbox.note(roundTrip: roundTrip)
            self.probe?.measured(roundTrip: roundTrip)
        }
        self.probeLater(number)
    }
}
