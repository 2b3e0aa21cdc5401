internal import Linkspan
internal import LinkspanRuntime

extension ScriptedTransport {
    /// Plays the server of a recorded conversation to each client: sets the handlers for links and messages.
    ///
    /// What the server said before the client's first message comes when the link opens. Each message of the client is looked for among
    /// those of the recording that are left, by its event; it gets the recorded reply, and whatever the server said until the client's next
    /// message follows. A message that is not in the recording, or no longer, gets no answer and is among ``unexpected``.
    ///
    /// - Parameters:
    ///   - conversation: the recording.
    ///   - isPaced: whether the server takes the time that it took; at once by default.
    public func play(_ conversation: Conversation, isPaced: Bool = false) {
        let stages = Confined([Int: PlayedConversation](), to: self.scheduler.executor)
        let scheduler = self.scheduler
        self.onConnect { peer in
            stages.value[peer.number] = PlayedConversation(conversation)
            for step in stages.value[peer.number]?.opening ?? [] {
                step.perform(for: peer, nil, isPaced ? scheduler : nil)
            }
        }
        self.onMessage { message in
            let number = message.peer.number
            guard let steps = stages.value[number]?.hear(message.event) else {
                return self.noteUnexpected(message.event)
            }
            for step in steps { step.perform(for: message.peer, message, isPaced ? scheduler : nil) }
        }
    }
}

/// The position of one client in a recorded conversation.
struct PlayedConversation: Sendable {
    /// Something the server says.
    struct Step: Sendable {
        var line: Conversation.Line
        /// The time since the message that it follows.
        var delay: Duration

        func perform(for peer: ScriptedPeer, _ message: ScriptedMessage?, _ scheduler: VirtualScheduler?) {
            let line = self.line
            let say: @Sendable () -> Void = {
                if line.isReply { message?.reply(line.payload) } else { peer.emit(line.event, line.payload) }
            }
            if let scheduler, self.delay > .zero { scheduler.scheduleJob(after: self.delay, say) } else { say() }
        }
    }

    private(set) var opening: [Step] = []
    /// The client's messages that are left, each with what follows it.
    private var turns: [(event: String, steps: [Step])] = []

    init(_ conversation: Conversation) {
        var start = Duration.zero
        for line in conversation.lines {
            switch line.side {
            case .client:
                // A reply of the client's asks for nothing.
                guard !line.isReply else { continue }
                self.turns.append((line.event, []))
                start = line.time
            case .server:
                let step = Step(line: line, delay: max(.zero, line.time - start))
                if line.isReply,
                    let turn = self.turns.firstIndex(where: { turn in
                        turn.event == line.event && !turn.steps.contains { $0.line.isReply }
                    })
                {
                    self.turns[turn].steps.append(step)
                } else if self.turns.isEmpty {
                    self.opening.append(step)
                } else {
                    self.turns[self.turns.count - 1].steps.append(step)
                }
            }
        }
    }

    /// The words that follow a message of the client; nil for one that is not in the recording any more.
    mutating func hear(_ event: String) -> [Step]? {
        guard let index = self.turns.firstIndex(where: { $0.event == event }) else { return nil }
        return self.turns.remove(at: index).steps
    }
}
