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
        case .expect(let event):
            for _ in 0..<(step.plan.count ?? 1) where !self.run.isOver { await self.expect(event, step.plan.seconds) }
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
        let (connection, sender) = self.place(of: step)
        let start = self.run.now + step.phase(of: self.number, among: self.run.scenario.clients)
        await self.run.sleep(start - self.run.now)
        var sent = 0
        while sent < step.count, !self.run.isOver {
            if step.isRequest, step.interval == nil {
                await self.request(step, sender, over: connection)
                sent += 1
            } else {
                sent = self.send(from: sent, of: step, sender, since: start, over: connection)
                guard let interval = step.interval, sent < step.count else { continue }
                // Turns of a millisecond: a wake-up for each message would cost more than the message.
                await self.run.sleep(max(start + Int64(Double(sent) * interval) - self.run.now, 1_000_000))
            }
        }
    }

    private func place(of step: LoadStep) -> (ConnectionHandler, sender: Int) {
        let connection = self.state.withLock { $0.connections[step.plan.namespace] }
        return (connection, self.number * self.run.urls.count + step.plan.namespace)
    }

    /// Sends the messages that are due; returns how many have left.
    private func send(
        from sent: Int, of step: LoadStep, _ sender: Int, since start: Int64, over connection: ConnectionHandler
    ) -> Int {
        let now = self.run.now
        let due = step.interval.map { min(step.count, Int(Double(now - start) / $0) + 1) } ?? step.count
        guard due > sent else { return sent }
        // With a rate, the time counts from when each message was due.
        func time(of index: Int) -> Int64 { step.interval.map { start + Int64(Double(index) * $0) } ?? now }
        let first = self.begin(due - sent, of: step, sender, late: now - time(of: sent))
        for index in sent..<due {
            let stamp = MessageStamp(sender: sender, number: first + index - sent, time: time(of: index))
            // Made where it is handed over, because a copy would cost each message.
            var payload: Payload { step.template.payload(stamp, user: self.user) }
            if step.isRequest {
                self.request(step, payload, stamp, over: connection) {}
            } else {
                self.perform(Command(sending: step.event, payload: payload), stamp, over: connection)
            }
        }
        return due
    }

    /// Takes numbers for messages; returns the first.
    private func begin(_ count: Int, of step: LoadStep, _ sender: Int, late: Int64) -> Int {
        self.run.tally.withLock { tally in
            tally.sent += count
            tally.lateness.record(late)
            return tally.book.take(count, of: sender, to: step.audience, isAcknowledged: step.isRequest)
        }
    }

    /// Sends one request, and waits for its answer.
    private func request(_ step: LoadStep, _ sender: Int, over connection: ConnectionHandler) async {
        let number = self.begin(1, of: step, sender, late: 0)
        let stamp = MessageStamp(sender: sender, number: number, time: self.run.now)
        let payload = step.template.payload(stamp, user: self.user)
        await withCheckedContinuation { continuation in
            self.request(step, payload, stamp, over: connection) { continuation.resume() }
        }
    }

    /// Performs a command; false if that fails at once.
    @discardableResult
    private func perform(
        _ command: consuming Command, _ stamp: MessageStamp, over connection: ConnectionHandler
    ) -> Bool {
        do throws(LinkspanError) {
            try connection.perform(command)
            return true
        } catch {
            self.run.tally.withLock { tally in
                tally.fail(error)
                tally.sent -= 1
                tally.book.cancel(stamp.number, of: stamp.sender)
            }
            return false
        }
    }

    private func request(
        _ step: LoadStep, _ payload: Payload, _ stamp: MessageStamp, over connection: ConnectionHandler,
        _ done: @escaping @Sendable () -> Void
    ) {
        let command = Command(.request, event: step.event, payload: payload, timeout: .seconds(step.plan.seconds)) {
            [run] outcome in
            let time = run.now - stamp.time
            run.tally.withLock { tally in
                switch outcome {
                case .success: tally.answer(after: time, stamp)
                case .failure(let error): tally.fail(error)
                }
            }
            done()
        }
        if !self.perform(command, stamp, over: connection) { done() }
    }
}

/// A step as every client takes it; a reference, because the task of each client has one.
final class LoadStep: Sendable {
    let plan: LoadScenario.Step
    let template: PayloadTemplate
    /// The event to send; empty for another step.
    let event: String
    let isRequest: Bool
    let count: Int
    let audience: SequenceBook.Audience
    /// The nanoseconds between two messages; nil without a rate.
    let interval: Double?

    /// - Throws: `ValidationError` for an invalid payload.
    init(_ plan: LoadScenario.Step, columns: [String]) throws {
        self.plan = plan
        self.template = try PayloadTemplate(plan.payload, columns: columns)
        switch plan.action {
        case .emit(let event): (self.event, self.isRequest) = (event, false)
        case .request(let event): (self.event, self.isRequest) = (event, true)
        case .expect, .think: (self.event, self.isRequest) = ("", false)
        }
        self.count = plan.count ?? (plan.rate == nil ? 1 : .max)
        self.audience = plan.audience ?? (self.isRequest || !self.template.hasStamp ? .none : .sender)
        self.interval = plan.rate.map { 1e9 / $0 }
    }

    /// The nanoseconds after which a client begins: those with a rate send by turns, and not all at once.
    func phase(of number: Int, among clients: Int) -> Int64 {
        Int64((self.interval ?? 0) * Double(number) / Double(clients))
    }
}
