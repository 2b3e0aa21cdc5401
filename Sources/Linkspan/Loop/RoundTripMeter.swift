internal import LinkspanRuntime

/// Measures the round trip by an event, where the app names one; see ``ConnectionOptions/probeEvent``.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``.
final class RoundTripMeter {
    /// The number of the measurements that go on; those with another number are over.
    private var number: UInt64 = 0

    /// Starts measuring over the open link, and stops the measurement before.
    func begin(_ core: ConnectionCore) {
        self.number &+= 1
        if self.event(core) != nil { self.measureLater(self.number, core) }
    }

    private func event(_ core: ConnectionCore) -> String? {
        let isOff = core.attempts.state != .connected || core.sender.outgoing.savesData
        return isOff ? nil : core.destination.options.probeEvent
    }

    private func measureLater(_ number: UInt64, _ core: ConnectionCore) {
        _ = core.later(at: core.now + core.destination.options.probeInterval) { $0.meter.measure(number, $0) }
    }

    private func measure(_ number: UInt64, _ core: ConnectionCore) {
        guard number == self.number, let event = self.event(core) else { return }
        // Behind a backlog the backlog would be measured.
        guard core.sender.outgoing.isOpen else { return self.measureLater(number, core) }
        let (reference, scheduler, start) = (core.reference, core.environment.scheduler, core.now)
        let limit = core.destination.options.probeInterval
        let command = Command(.request, event: event, payload: .empty, timeout: limit) { outcome in
            let end = scheduler.moment
            reference.post { $0.meter.measured(number, outcome.map { _ in start.duration(to: end) }, $0) }
        }
        core.sender.measurement = command.id
        do throws(LinkspanError) {
            try core.sender.accept(command)
        } catch {
            self.measureLater(number, core)
        }
    }

    private func measured(_ number: UInt64, _ outcome: Result<Duration, LinkspanError>, _ core: ConnectionCore) {
        guard number == self.number, core.attempts.state == .connected else { return }
        if case .success(let roundTrip) = outcome {
            core.inbox.note(roundTrip: roundTrip)
            core.probe?.measured(roundTrip: roundTrip)
        }
        self.measureLater(number, core)
    }
}
