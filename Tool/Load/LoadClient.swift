import Linkspan
import LinkspanRuntime
import Synchronization

/// A client of a load: its connections, one for each namespace, and its way through the steps.
@available(macOS 15, *)
final class LoadClient: Sendable {
    private let number: Int
    private let user: [String: String]
    private let run: LoadRun
    /// The connections, and the expected events that came and that no step has waited for yet.
    private let state = Lock(State())

    private struct State: Sendable {
        var connections: [ConnectionHandler] = []
        var seen: [String: Int] = [:]
        var waiters: [String: [Promise<Bool>]] = [:]
    }

    init(_ number: Int, user: [String: String], _ run: LoadRun) {
        (self.number, self.user, self.run) = (number, user, run)
    }

    /// Connects; false when that fails.
    func connect() async -> Bool {
        let count = self.run.urls.count
        for (index, url) in self.run.urls.enumerated() {
            do throws(LinkspanError) {
                let start = Int64.now
                let receiver = self.number * count + index
                let connection = try self.run.prepare(url, client: self.number, self.user)
                try connection.onAny { [self, weak connection] message in
                    guard self.receive(message, at: receiver) else { return }
                    // Messages that only `onAny` hears are kept for a later listener; one listener, though cancelled, ends that for
                    // its event.
                    (try? connection?.on(message.event) { _ in })?.cancel()
                }
                self.watch(connection)
                self.state.withLock { $0.connections.append(connection) }
                try connection.connect()
                try await connection.connected(within: self.run.timeout)
                self.run.tally.withLock {
                    $0.connect.record(.now - start)
                    $0.receivers.append(receiver)
                }
            } catch {
                self.run.tally.withLock {
                    $0.failedClients += 1
                    $0.fail((error.cause as? LinkspanError) ?? error)
                }
                return false
            }
        }
        return true
    }

    /// Counts the connection while it is open, and how long it is away.
    private func watch(_ connection: ConnectionHandler) {
        let lost = Lock<Int64?>(nil)
        connection.onStateChange { [run = self.run] change in
            let since = lost.withLock { lost in
                defer { lost = change.to == .connected ? nil : lost ?? .now }
                return lost
            }
            run.tally.withLock { tally in
                if change.to == .connected {
                    tally.open += 1
                    if let since { tally.reconnect.record(.now - since) }
                } else if change.from == .connected {
                    tally.open -= 1
                    if !run.isOver, let error = change.reason.error { tally.fail(error) }
                }
            }
        }
    }

    /// Counts a message; true for the first of its event at that receiver.
    private func receive(_ message: Message, at receiver: Int) -> Bool {
        let stamp = MessageStamp(in: message.payload.elements)
        let now = self.run.now
        if self.run.expected.contains(message.event) { self.note(message.event) }
        return self.run.tally.withLock { tally in
            tally.received += 1
            if let stamp { tally.receive(stamp, at: receiver, now: now) }
            return tally.hears(message.event, at: receiver)
        }
    }

    /// Gives an event to the step that waits for it, or keeps it for the next one.
    private func note(_ event: String) {
        let waiter = self.state.withLock { state -> Promise<Bool>? in
            if state.waiters[event]?.isEmpty == false { return state.waiters[event]?.removeFirst() }
            state.seen[event, default: 0] += 1
            return nil
        }
        waiter?.fulfill(true)
    }

    /// The thread of its first connection.
    var executor: (any TaskExecutor)? { self.state.withLock { $0.connections.first?.executor } }

    /// Takes the steps, again and again, until they are done or the time is up.
    func work() async {
        var round = 0
        while !self.run.isOver, round < self.run.rounds {
            for step in self.run.steps where !self.run.isOver { await self.take(step) }
            round += 1
        }
    }

    private func take(_ step: LoadStep) async {
        switch step.plan.action {
        case .think: await self.run.sleep(Int64(step.plan.seconds * 1e9))
        case .expect:
            for _ in 0..<(step.plan.count ?? 1) where !self.run.isOver {
                await self.expect(step.plan.event, step.plan.seconds)
            }
        case .emit, .request: await self.send(step)
        }
    }

    private func expect(_ event: String, _ seconds: Double) async {
        let promise: Promise<Bool>? = self.state.withLock { state in
            if let seen = state.seen[event], seen > 0 {
                state.seen[event] = seen - 1
                return nil
            }
            let promise = Promise<Bool>()
            state.waiters[event, default: []].append(promise)
            return promise
        }
        guard let promise else { return }
        let scheduler = SystemScheduler.shared
        let end = scheduler.now + .seconds(seconds)
        guard await !promise.value(until: end, by: scheduler, or: false) else { return }
        self.run.tally.withLock { $0.fail(LinkspanError(.timedOut, "no '\(event)' within \(seconds) s")) }
    }

    /// Sends what a step says, at its rate.
    private func send(_ step: LoadStep) async {
        let start = self.run.now + step.phase(of: self.number, among: self.run.scenario.clients)
        await self.run.sleep(start - self.run.now)
        var sent = 0
        while sent < step.count, !self.run.isOver {
            guard let interval = step.interval else {
                guard step.isRequest else { return self.send(0..<step.count, of: step, since: start) }
                await withCheckedContinuation { answer in
                    self.send(sent..<sent + 1, of: step, since: start) { answer.resume() }
                }
                sent += 1
                continue
            }
            let due = min(step.count, Int(Double(self.run.now - start) / interval) + 1)
            if due > sent { self.send(sent..<due, of: step, since: start) }
            sent = max(sent, due)
            guard sent < step.count else { return }
            // Turns of a millisecond: a wake-up for each message would cost more than the message.
            await self.run.sleep(max(start + Int64(Double(sent) * interval) - self.run.now, 1_000_000))
        }
    }

    /// Sends some of a step's messages; `done` hears of each answer to a request.
    private func send(
        _ indices: Range<Int>, of step: LoadStep, since start: Int64, _ done: @escaping @Sendable () -> Void = {}
    ) {
        let connection = self.state.withLock { $0.connections[step.plan.namespace] }
        let sender = self.number * self.run.urls.count + step.plan.namespace
        let now = self.run.now
        // With a rate, the time counts from when each message was due.
        func time(of index: Int) -> Int64 { step.interval.map { start + Int64(Double(index) * $0) } ?? now }
        let first = self.run.tally.withLock { tally in
            tally.sent += indices.count
            tally.underWay += step.isRequest ? indices.count : 0
            tally.lateness.record(now - time(of: indices.lowerBound))
            return tally.book.take(indices.count, of: sender, to: step.audience, isAcknowledged: step.isRequest)
        }
        for index in indices {
            let number = first + index - indices.lowerBound
            let stamp = MessageStamp(sender: sender, number: number, time: time(of: index))
            self.perform(step, stamp, over: connection, done)
        }
    }

    /// Sends the message of a step; `done` hears of the answer to a request.
    private func perform(
        _ step: LoadStep, _ stamp: MessageStamp, over connection: ConnectionHandler,
        _ done: @escaping @Sendable () -> Void
    ) {
        // Made where it is handed over, because a copy would cost each message.
        var payload: Payload { step.template.payload(stamp, user: self.user) }
        do throws(LinkspanError) {
            // To hear of the outcome of an emit costs more than the emit.
            guard step.isRequest || step.mayBeRefused else {
                return try connection.perform(Command(sending: step.plan.event, payload: payload))
            }
            let patience = step.isRequest ? Duration.seconds(step.plan.seconds) : nil
            try connection.perform(
                Command(
                    step.isRequest ? .request : .send, event: step.plan.event, payload: payload, timeout: patience
                ) { self.note($0, of: step, stamp, done) })
        } catch {
            var error = error
            error.certainty = .notSent
            self.note(.failure(error), of: step, stamp, done)
        }
    }

    private func note(
        _ outcome: Result<Payload, LinkspanError>, of step: LoadStep, _ stamp: MessageStamp, _ done: () -> Void
    ) {
        let time = self.run.now - stamp.time
        self.run.tally.withLock { tally in
            tally.underWay -= step.isRequest ? 1 : 0
            switch outcome {
            case .success where step.isRequest: tally.answer(after: time, stamp)
            case .success: ()
            case .failure(let error):
                tally.fail(error)
                guard !step.isRequest || error.certainty == .notSent else { return }
                // What was not sent, such as more than the server accepts, is not lost by the server.
                tally.sent -= 1
                tally.book.cancel(stamp.number, of: stamp.sender)
            }
        }
        done()
    }
}

/// A step as every client takes it; a reference, because the task of each client has one.
final class LoadStep: Sendable {
    let plan: LoadScenario.Step
    let template: PayloadTemplate
    let isRequest: Bool
    /// Whether an emit may be refused: a long one may be more than the server accepts, and a raw WebSocket takes only texts.
    let mayBeRefused: Bool
    let count: Int
    let audience: SequenceBook.Audience
    /// The nanoseconds between two messages; nil without a rate.
    let interval: Double?

    /// - Throws: `ValidationError` for an invalid payload.
    init(_ plan: LoadScenario.Step, columns: [String], isRaw: Bool) throws {
        self.plan = plan
        self.template = try PayloadTemplate(plan.payload, columns: columns)
        self.isRequest = plan.action == .request
        self.mayBeRefused = self.template.capacity > 512 || isRaw && !plan.payload.hasPrefix("\"")
        self.count = plan.count ?? (plan.rate == nil ? 1 : .max)
        self.audience = plan.audience ?? (self.isRequest || !self.template.hasStamp ? .none : .sender)
        self.interval = plan.rate.map { 1e9 / $0 }
    }

    /// The nanoseconds after which a client begins: those with a rate send by turns, and not all at once.
    func phase(of number: Int, among clients: Int) -> Int64 {
        Int64((self.interval ?? 0) * Double(number) / Double(clients))
    }
}
