import Linkspan
import LinkspanRuntime
import Synchronization

/// A client of a load: its connections, one for each namespace, and its way through the steps.
@available(macOS 15, *)
final class LoadClient: Sendable {
    private let number: Int
    private let user: [String: String]
    private let run: LoadRun
    /// The connections, and the events that came and that no step has waited for yet.
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
                try connection.onAny { [self] in self.receive($0, at: receiver) }
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

    private func receive(_ message: Message, at receiver: Int) {
        let stamp = MessageStamp(in: message.payload.elements)
        let now = self.run.now
        self.run.tally.withLock { tally in
            tally.received += 1
            if let stamp { tally.receive(stamp, at: receiver, now: now) }
        }
        guard !self.run.expected.isEmpty, self.run.expected.contains(message.event) else { return }
        let waiter = self.state.withLock { state -> Promise<Bool>? in
            if state.waiters[message.event]?.isEmpty == false { return state.waiters[message.event]?.removeFirst() }
            state.seen[message.event, default: 0] += 1
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
            for (step, template) in self.run.steps where !self.run.isOver {
                switch step.action {
                case .think: await self.run.sleep(.seconds(step.seconds))
                case .expect(let event):
                    for _ in 0..<(step.count ?? 1) where !self.run.isOver { await self.expect(event, step) }
                case .emit(let event): await self.send(event, step, template, isRequest: false)
                case .request(let event): await self.send(event, step, template, isRequest: true)
                }
            }
            round += 1
        }
    }

    private func expect(_ event: String, _ step: LoadScenario.Step) async {
        let promise = Promise<Bool>()
        self.state.withLock { state in
            if let seen = state.seen[event], seen > 0 {
                state.seen[event] = seen - 1
                promise.fulfill(true)
            } else {
                state.waiters[event, default: []].append(promise)
            }
        }
        let scheduler = SystemScheduler.shared
        let end = scheduler.now + .seconds(step.seconds)
        guard await !promise.value(until: end, by: scheduler, or: false) else { return }
        self.run.tally.withLock { $0.fail(LinkspanError(.timedOut, "no '\(event)' within \(step.seconds) s")) }
    }

    private func send(
        _ event: String, _ step: LoadScenario.Step, _ template: PayloadTemplate, isRequest: Bool
    ) async {
        let connection = self.state.withLock { $0.connections[step.namespace] }
        let audience = step.audience ?? (isRequest || !template.hasStamp ? .none : .sender)
        let sender = self.number * self.run.urls.count + step.namespace
        let count = step.count ?? (step.rate == nil ? 1 : .max)
        let interval = step.rate.map { 1e9 / $0 }
        // Clients with a rate send by turns, and not all at once.
        let phase = (interval ?? 0) * Double(self.number) / Double(self.run.scenario.clients)
        let start = self.run.now + Int64(phase)
        await self.run.sleep(.nanoseconds(Int64(phase)))
        var sent = 0
        while sent < count, !self.run.isOver {
            let now = self.run.now
            let due = interval.map { min(count, Int(Double(now - start) / $0) + 1) } ?? (isRequest ? sent + 1 : count)
            // With a rate, the time counts from when each message was due.
            func time(of index: Int) -> Int64 { interval.map { start + Int64(Double(index) * $0) } ?? now }
            let first = self.run.tally.withLock { [sent] tally -> Int in
                tally.sent += due - sent
                if sent < due { tally.lateness.record(now - time(of: sent)) }
                return tally.book.take(due - sent, of: sender, to: audience, isAcknowledged: isRequest)
            }
            var emits: [Command] = []
            for index in sent..<due {
                let stamp = MessageStamp(sender: sender, number: first + index - sent, time: time(of: index))
                let payload = template.payload(stamp, user: self.user)
                if !isRequest {
                    emits.append(Command(.send, event: event, payload: payload))
                } else if interval != nil {
                    self.request(event, payload, stamp, step, over: connection) {}
                } else {
                    await withCheckedContinuation { continuation in
                        self.request(event, payload, stamp, step, over: connection) { continuation.resume() }
                    }
                }
            }
            self.emit(emits, over: connection)
            sent = due
            guard let interval, sent < count else { continue }
            // Turns of a millisecond: a wake-up for each message would cost more than the message.
            let pause = max(start + Int64(Double(sent) * interval) - self.run.now, 1_000_000)
            await self.run.sleep(.nanoseconds(pause))
        }
    }

    private func emit(_ commands: [Command], over connection: ConnectionHandler) {
        do throws(LinkspanError) {
            if !commands.isEmpty { try connection.perform(batch: commands) }
        } catch {
            self.run.tally.withLock { $0.fail(error) }
        }
    }

    private func request(
        _ event: String, _ payload: Payload, _ stamp: MessageStamp, _ step: LoadScenario.Step,
        over connection: ConnectionHandler, _ done: @escaping @Sendable () -> Void
    ) {
        let command = Command(.request, event: event, payload: payload, timeout: .seconds(step.seconds)) {
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
        do throws(LinkspanError) {
            try connection.perform(command)
        } catch {
            self.run.tally.withLock { $0.fail(error) }
            done()
        }
    }
}
