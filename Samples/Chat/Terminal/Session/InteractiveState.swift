import LinkspanTerminal

/// The state of an interactive session; it reads and writes nothing itself.
@available(macOS 15, *)
struct InteractiveState: Sendable {
    /// After this time without another byte, ESC is the key.
    private static let escapeTime = Duration.milliseconds(50)

    var view: ChatView
    var ending: InteractiveSession.Ending?
    private var screen: Screen
    private var size: TerminalSize
    private var decoder = KeyDecoder()
    private let queue: RequestQueue
    private let patience: Duration
    private let hasBell: Bool
    /// Whether to stop the process.
    private(set) var isSuspending = false
    /// Output for the terminal before the next frame.
    private var ahead = ""
    private var escapeEnds: ContinuousClock.Instant?
    private var patienceEnds: ContinuousClock.Instant?
    /// When the next tick comes.
    private var nextTick: ContinuousClock.Instant?

    init(
        view: ChatView, screen: Screen, size: TerminalSize, queue: RequestQueue, patience: Duration, hasBell: Bool
    ) {
        (self.view, self.screen, self.size) = (view, screen, size)
        (self.queue, self.patience, self.hasBell) = (queue, patience, hasBell)
    }

    // MARK: Input

    /// Keys were pressed.
    mutating func type(_ bytes: [UInt8], now: ContinuousClock.Instant) {
        self.press(self.decoder.decode(bytes), now: now)
        self.escapeEnds = self.decoder.isAmbiguous ? now + Self.escapeTime : nil
    }

    /// The terminal has another size.
    mutating func resize(_ size: TerminalSize) {
        self.size = size
        self.screen.invalidate()
    }

    /// Others have used the terminal.
    mutating func resume(_ size: TerminalSize) {
        self.size = size
        self.ahead += self.screen.resume()
    }

    /// Something happens.
    mutating func hear(_ event: ChatFloorEvent, now: ContinuousClock.Instant) {
        self.view.hear(event, now: now)
        if self.view.takeCall(), self.hasBell { self.ahead += "\u{7}" }
        if case .connection(.failed(let why), _) = event { self.ending = self.ending ?? .failed(why) }
    }

    /// A request was done.
    mutating func settle(_ outcome: RequestQueue.Outcome, now: ContinuousClock.Instant) {
        switch outcome {
        case .renamed(let name): self.view.rename(to: name)
        case .answer(let text): self.view.tell(.answer(text), now: now)
        case .refused(let sentence): self.view.tell(.failure(sentence), now: now)
        case .drained(let undelivered): self.finish(undelivered: undelivered)
        }
    }

    /// Time has passed.
    mutating func tick(now: ContinuousClock.Instant) {
        if let time = self.nextTick, time <= now { self.nextTick = nil }
        if let end = self.escapeEnds, end <= now {
            self.escapeEnds = nil
            self.press(self.decoder.flush(), now: now)
        }
        if let end = self.patienceEnds, end <= now { self.leaveNow() }
    }

    /// Somebody wants to leave: when everything is confirmed, or at once if they say it again.
    mutating func quit(now: ContinuousClock.Instant) {
        guard self.patienceEnds == nil else { return self.leaveNow() }
        // The queue does not wait any longer, but may reach the request later.
        self.patienceEnds = now + self.patience + .seconds(1)
        self.view.leave()
        self.queue.drain()
    }

    // MARK: Output

    /// Takes over the terminal.
    mutating func enter() -> String { self.screen.enter(self.size) }

    /// Shows the changes.
    mutating func draw(now: ContinuousClock.Instant) -> String {
        defer { self.ahead = "" }
        return self.ahead + self.screen.show(self.view.frame(self.size, now: now), of: self.view.list)
    }

    /// Gives the terminal to the shell, until the process goes on.
    mutating func suspend(now: ContinuousClock.Instant) -> String {
        self.isSuspending = false
        return self.leave(now: now)
    }

    /// The process goes on.
    mutating func takeBack(_ size: TerminalSize) -> String {
        self.size = size
        return self.screen.enter(size)
    }

    /// Leaves the end of the conversation on the terminal, and nothing else.
    mutating func leave(now: ContinuousClock.Instant) -> String {
        self.view.follow()
        return self.draw(now: now) + self.screen.leave()
    }

    /// When to tick next; nil when a tick comes in time anyway.
    mutating func wake(now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        let times = [self.escapeEnds, self.patienceEnds, self.view.nextChange(after: now)].compactMap(\.self)
        guard let time = times.min(), self.nextTick.map({ time < $0 }) ?? true else { return nil }
        self.nextTick = time
        return time
    }

    private mutating func leaveNow() { self.finish(undelivered: self.view.status.waiting) }

    private mutating func finish(undelivered: Int) {
        self.ending = self.ending ?? .finished(undelivered: undelivered, lost: self.queue.waiting)
    }

    private mutating func press(_ keys: [Key], now: ContinuousClock.Instant) {
        for key in keys {
            for request in self.view.press(key, size: self.size, now: now) { self.serve(request, now: now) }
        }
    }

    private mutating func serve(_ request: ChatView.Request, now: ContinuousClock.Instant) {
        switch request {
        case .input(.quit), .quit: self.quit(now: now)
        case .input(.topic(nil)): self.view.tell(.answer(self.view.topicSentence), now: now)
        case .input(let input): self.queue.add(input)
        case .typing: self.queue.addTyping()
        case .redraw: self.screen.invalidate()
        case .suspend: self.isSuspending = true
        case .mouse(let isOn): self.ahead += self.screen.setMouse(isOn)
        }
    }
}
