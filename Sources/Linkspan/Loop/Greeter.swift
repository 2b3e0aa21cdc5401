internal import LinkspanRuntime

/// Runs the app's greeting over a link that has just opened.
enum Greeter {
    /// Begins the greeting; its task is cancelled when its link ends.
    static func greet(epoch: UInt64, for core: ConnectionCore) {
        // A listener that heard of the link before may have ended it.
        guard let greeting = core.destination.options.greeting, core.sender.outgoing.greetedLink == epoch else {
            return
        }
        let (reference, scheduler) = (core.reference, core.environment.scheduler)
        let deadline = core.later(at: core.now + greeting.deadline) { core in
            Self.failed(
                LinkspanError(.timedOut, "the greeting '\(greeting.name)' took too long"), epoch: epoch, for: core)
        }
        core.inbox.withState { $0.greeting = epoch }
        let channel = GreetingChannel(
            perform: { command throws(LinkspanError) in
                try reference.submit(greeting: command, epoch: epoch, made: scheduler.moment)
            },
            cancel: { id in reference.post { core in core.sender.change { $0.cancel([id]) } } })
        // No parent can own this task: links open in callbacks.
        core.sender.link?.greeting = Task {
            do {
                try await greeting.body(channel)
                reference.post { Self.succeeded(epoch: epoch, for: $0) }
            } catch {
                let failure = LinkspanError(greeting: greeting.name, failedWith: error)
                reference.post { Self.failed(failure, epoch: epoch, for: $0) }
            }
            deadline.cancel()
        }
    }

    private static func succeeded(epoch: UInt64, for core: ConnectionCore) {
        guard core.sender.outgoing.greetedLink == epoch else { return }
        core.inbox.withState { $0.greeting = nil }
        core.sender.change { $0.linkIsReady() }
    }

    private static func failed(_ error: LinkspanError, epoch: UInt64, for core: ConnectionCore) {
        guard core.sender.outgoing.greetedLink == epoch else { return }
        core.giveUpLink(error, .standard)
    }
}

extension LinkspanError {
    /// An error of the greeting as the end of its link.
    fileprivate init(greeting name: String, failedWith error: any Error) {
        if let error = error as? LinkspanError, error.certainty == nil {
            self = error
        } else {
            self.init(.greetingFailed, "the greeting '\(name)' failed", cause: error)
        }
    }
}
