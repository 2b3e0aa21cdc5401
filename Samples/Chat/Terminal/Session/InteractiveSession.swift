import LinkspanTerminal

/// A visit at a terminal: keys and events come in, one after the other, and the screen follows.
@available(macOS 15, *)
struct InteractiveSession: Sendable {
    /// How a visit ended.
    enum Ending: Hashable, Sendable {
        /// The user left, with counts of unconfirmed lines and of lines never sent.
        case finished(undelivered: Int, lost: Int = 0)
        /// The connection has failed for good.
        case failed(String)
        /// A signal ended it.
        case terminated(signal: Int32)
    }

    /// Whatever comes in.
    private enum Input: Sendable {
        case terminal(TerminalInput)
        case event(ChatFloorEvent)
        case outcome(RequestQueue.Outcome)
        case tick
    }

    private let floor: any ChatFloor
    private let terminal: any Terminal
    private let style: Style
    private let settings: InterfaceSettings
    private let patience: Duration
    private let name: String
    private let room: String

    /// Prepares a visit.
    ///
    /// - Parameters:
    ///   - name: who visits.
    ///   - room: the room they are in at first.
    ///   - floor: where they chat.
    ///   - terminal: where they sit.
    ///   - style: how things look.
    ///   - settings: the visitor's preferences.
    ///   - patience: how long unconfirmed lines are waited for when they leave.
    init(
        name: String, room: String, floor: any ChatFloor, terminal: any Terminal, style: Style,
        settings: InterfaceSettings, patience: Duration
    ) {
        (self.name, self.room, self.floor, self.terminal) = (name, room, floor, terminal)
        (self.style, self.settings, self.patience) = (style, settings, patience)
    }

    /// Visits, and gives the terminal back as it was.
    func run() async -> Ending {
        let inbox = Inbox<Input>()
        let queue = RequestQueue(self.floor, patience: self.patience)
        return await withDiscardingTaskGroup { group in
            group.addTask { for await input in self.terminal.inputs { inbox.put(.terminal(input)) } }
            group.addTask { for await event in self.floor.events { inbox.put(.event(event)) } }
            group.addTask { await queue.run { inbox.put(.outcome($0)) } }
            let view = ChatView(
                name: self.name, room: self.room, times: self.settings.showsTimes ? .local() : .none)
            var visit = InteractiveState(
                view: view, screen: Screen(self.style, hasMouse: self.settings.hasMouse), size: self.terminal.size(),
                queue: queue, patience: self.patience, hasBell: self.settings.hasBell)
            self.terminal.enter()
            await self.terminal.write(visit.enter())
            await self.terminal.write(visit.draw(now: .now))
            for await _ in inbox.arrivals {
                for input in inbox.take() { self.take(input, &visit) }
                await self.terminal.write(visit.draw(now: .now))
                guard visit.ending == nil else { break }
                if visit.isSuspending { await self.suspend(&visit) }
                if let time = visit.wake(now: .now) {
                    group.addTask {
                        try? await Task.sleep(until: time, clock: .continuous)
                        inbox.put(.tick)
                    }
                }
            }
            await self.terminal.write(visit.leave(now: .now))
            self.terminal.restore()
            group.cancelAll()
            // Only the task that runs this can have been cancelled, if nothing has ended the visit.
            return visit.ending ?? .finished(undelivered: 0)
        }
    }

    /// Leaves the terminal to the shell until the process goes on.
    private func suspend(_ visit: inout InteractiveState) async {
        await self.terminal.write(visit.suspend(now: .now))
        self.terminal.suspend()
        await self.terminal.write(visit.takeBack(self.terminal.size()))
        await self.terminal.write(visit.draw(now: .now))
    }

    private func take(_ input: Input, _ visit: inout InteractiveState) {
        switch input {
        case .terminal(.bytes(let bytes)): visit.type(bytes, now: .now)
        case .terminal(.resized): visit.resize(self.terminal.size())
        case .terminal(.resumed):
            self.terminal.enter()
            visit.resume(self.terminal.size())
        case .terminal(.ended): visit.quit(now: .now)
        case .terminal(.terminated(let signal)): visit.ending = visit.ending ?? .terminated(signal: signal)
        case .terminal(.stray(let line)): visit.view.tell(.news(line), now: .now)
        case .event(let event): visit.hear(event, now: .now)
        case .outcome(let outcome): visit.settle(outcome, now: .now)
        case .tick: visit.tick(now: .now)
        }
    }
}
