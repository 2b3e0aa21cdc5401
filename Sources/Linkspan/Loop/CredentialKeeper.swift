internal import LinkspanRuntime
internal import Logging

/// Obtains, renews and shows the credentials of a connection.
///
/// Confined to the connection's executor, as a part of its ``ConnectionCore``.
final class CredentialKeeper {
    private(set) var state: ConnectionCredentials

    init(_ destination: Destination) { self.state = ConnectionCredentials(destination) }

    /// The instant at which a renewal is due, or the provider's deadline passes.
    var deadline: Moment? { self.state.deadline }

    /// Passes an input to the credentials, and carries out what they decide.
    func change(
        for core: ConnectionCore, _ input: (inout ConnectionCredentials) -> [ConnectionCredentials.Output]
    ) {
        let outputs = input(&self.state)
        core.hasNewDeadline()
        for output in outputs { self.carryOut(output, for: core) }
    }

    /// Leaves the credentials of the former place behind.
    func move(to next: Destination, for core: ConnectionCore) {
        self.change(for: core) { $0.stopWaiting() + $0.linkEnded() }
        self.state = ConnectionCredentials(next)
    }

    private func carryOut(_ output: ConnectionCredentials.Output, for core: ConnectionCore) {
        switch output {
        case .ask(let shared, let request, let held, let purpose):
            let (reference, login) = (core.reference, core.destination.login)
            let wait = shared.ask(request, login: login, held: held, scheduler: core.environment.scheduler) { outcome in
                reference.post { core in
                    let (now, random) = (core.now, core.environment.random())
                    core.credentials.change(for: core) {
                        $0.answered(outcome, for: purpose, now: now, random: random)
                    }
                }
            }
            if !self.state.keep(wait, for: purpose) { wait() }
        case .stopWaiting(let wait): wait()
        case .provide(let epoch, let outcome): self.provide(outcome, epoch: epoch, for: core)
        case .show(let issued): self.show(issued, for: core)
        case .report(let event):
            core.probe?.credentials(event)
            guard case .failed(.expiring, let error, _) = event else { return }
            core.environment.logger.warning(
                "Credentials not renewed",
                metadata: ["url": "\(core.destination.url)", "error": "\(error.code.rawValue): \(error.message)"])
        }
    }

    /// An attempt has its credentials, or gets none.
    private func provide(
        _ outcome: Result<IssuedCredentials, LinkspanError>, epoch: UInt64, for core: ConnectionCore
    ) {
        let now = core.now
        switch outcome {
        case .success(let issued):
            let isRenewed = issued.isAnswerToRefusal(at: now)
            core.attempt { $0.credentialsArrived(issued.credentials, epoch: epoch, isRenewed: isRenewed, now: now) }
        case .failure(let error):
            let random = core.environment.random()
            core.attempt { $0.credentialsFailed(epoch: epoch, error, now: now, random: random) }
        }
    }

    /// Gives renewed credentials to the open link, if it can take them.
    private func show(_ issued: IssuedCredentials, for core: ConnectionCore) {
        var isShown = false
        if core.attempts.state == .connected, let link = core.sender.link?.link {
            isShown = core.sender.queue.calling { link.renewCredentials(issued.credentials) }
        }
        if isShown { self.state.shown(issued) }
        core.probe?.credentials(.renewed(validFor: issued.credentials.validFor, isShown: isShown))
        core.environment.logger.debug(
            "Credentials renewed ahead of their expiry",
            metadata: ["url": "\(core.destination.url)", "pushed": "\(isShown)"])
    }
}
