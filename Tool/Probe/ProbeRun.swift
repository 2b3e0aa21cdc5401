import Linkspan
import LinkspanRuntime

/// A probe from its connection to its end.
@available(macOS 15, *)
struct ProbeRun: Sendable {
    /// What ends the probe before its lines do.
    private enum Ending: Sendable {
        case exit(ProbeExit, complaint: String? = nil)
        case linesEnded
    }

    let output: ProbeOutput
    let timeout: Duration
    /// The event, or a part of the message, that ends the probe.
    let until: String?
    /// True to stay until Ctrl-C and show the state.
    let isWatching: Bool
    private let state = Lock(State())

    private struct State: Sendable {
        var received = 0
        var sent = 0
        /// Whether the connection was lost.
        var isLost = false
        /// The latest event of the server that waits for an acknowledgement.
        var question: Message?
    }

    init(output: ProbeOutput, timeout: Duration, until: String?, isWatching: Bool) {
        (self.output, self.timeout, self.until, self.isWatching) = (output, timeout, until, isWatching)
    }

    /// Connects, sends lines and prints received events.
    ///
    /// - Parameters:
    ///   - configuration: where to.
    ///   - lines: the commands.
    ///   - patience: how long to stay after the last line.
    /// - Returns: how it ended.
    func run(_ configuration: ConnectionConfiguration, lines: AsyncStream<String>, patience: Duration) async
        -> ProbeExit
    {
        let (endings, ended) = AsyncStream<Ending>.makeStream()
        let connection: ConnectionHandler
        do throws(LinkspanError) {
            connection = try ConnectionManager.unlogged.connect(configuration)
            try connection.onAny { message in
                self.state.withLock { state in
                    state.received += 1
                    if message.wantsReply { state.question = message.detached() }
                }
                self.output.show(.event(wantsReply: message.wantsReply), message.event, message.payload)
                if self.isAwaited(message) { ended.yield(.exit(.done)) }
            }
            let start = ContinuousClock.now
            // The attempt has the same time, and knows what it waited for.
            try await connection.connected(within: self.timeout + .seconds(1))
            self.output.tell(
                "connected to \(connection.status.url) in \((ContinuousClock.now - start).milliseconds) ms")
        } catch {
            let (url, reason) = (configuration.url, error.innermost)
            self.output.complain(
                "cannot connect to \(url): \(reason.message); `linkspan doctor \(url)` finds the cause")
            return ProbeExit(reason)
        }
        let changes = connection.onStateChange { change in
            if let error = change.reason.error {
                guard self.isWatching else {
                    ended.yield(.exit(ProbeExit(error), complaint: "the connection has ended: \(error.message)"))
                    return
                }
                self.state.withLock { $0.isLost = true }
                self.output.tell("lost: \(error.message)")
            } else if change.to == .connected, self.state.withLock(\.isLost) {
                self.output.tell("connected again")
            }
        }
        defer { changes.cancel() }
        let end = await self.stay(connection, lines, endings, patience)
        _ = await connection.drain(within: .seconds(2))
        connection.release()
        return end
    }

    /// Carries out the lines until the probe ends.
    private func stay(
        _ connection: ConnectionHandler, _ lines: AsyncStream<String>, _ endings: AsyncStream<Ending>,
        _ patience: Duration
    ) async -> ProbeExit {
        await withTaskGroup(of: Ending?.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await ending in endings { return ending }
                return nil
            }
            group.addTask { await self.send(lines, over: connection) }
            // At a prompt Ctrl-C is a key.
            if self.output.prompt == nil {
                group.addTask {
                    await Interruption.wait()
                    return Task.isCancelled ? nil : .exit(self.isWatching ? .done : .interrupted)
                }
            }
            if self.isWatching {
                group.addTask {
                    await self.showState(of: connection)
                    return nil
                }
            }
            while let ending = await group.next() {
                switch ending {
                case .exit(let exit, let complaint):
                    if let complaint { self.output.complain(complaint) }
                    return exit
                case .linesEnded where !self.isWatching:
                    guard patience > .zero else { return .done }
                    group.addTask { (try? await Task.sleep(for: patience)).map { self.timeUp(after: patience) } }
                case .linesEnded, nil: ()
                }
            }
            return .done
        }
    }

    private func timeUp(after patience: Duration) -> Ending {
        guard let until = self.until else { return .exit(.done) }
        return .exit(.timedOut, complaint: "'\(until)' has not come within \(patience.milliseconds / 1_000) s")
    }

    /// Shows the state of the connection and what came through it, once in a second.
    private func showState(of connection: ConnectionHandler) async {
        let start = ContinuousClock.now
        while (try? await Task.sleep(for: .seconds(1))) != nil {
            let (status, state) = (connection.status, self.state.withLock { $0 })
            let roundTrip = status.link?.roundTrip.map { "  \($0.milliseconds) ms" } ?? ""
            self.output.show(
                status: "\(status.state)  \((.now - start).milliseconds / 1_000) s\(roundTrip)  "
                    + "received \(state.received)  sent \(state.sent)")
        }
    }

    private func send(_ lines: AsyncStream<String>, over connection: ConnectionHandler) async -> Ending? {
        for await line in lines where !line.isEmpty {
            let line = self.output.isRaw ? ProbeLine.message(line) : ProbeLine.event(line)
            let exit = await self.perform(line, over: connection)
            // At a terminal one tries again.
            if let exit, self.output.prompt == nil { return .exit(exit) }
        }
        return Task.isCancelled ? nil : self.output.prompt == nil ? .linesEnded : .exit(.done)
    }

    /// Carries out one line; returns the failure of the probe, if any.
    private func perform(_ line: ProbeLine, over connection: ConnectionHandler) async -> ProbeExit? {
        do throws(LinkspanError) {
            switch line {
            case .send(let event, let payload): _ = try await self.perform(.send, event, payload, over: connection)
            case .ask(let event, let payload):
                let reply = try await self.perform(.request, event, payload, within: self.timeout, over: connection)
                self.output.show(.acknowledgement, event, reply)
            case .answer(let payload):
                guard let question = self.state.withLock({ $0.question.take() }) else {
                    throw LinkspanError(.encodingFailed, "no event waits for an acknowledgement")
                }
                question.reply(payload: payload)
            case .mistake(let sentence): throw LinkspanError(.encodingFailed, sentence)
            }
            return nil
        } catch {
            self.output.complain(error.message)
            return ProbeExit(error)
        }
    }

    /// Sends an event; returns when the transport has taken it, or with the acknowledgement of a request.
    private func perform(
        _ kind: Command.Kind, _ event: String, _ payload: Payload, within limit: Duration? = nil,
        over connection: ConnectionHandler
    ) async throws(LinkspanError) -> Payload {
        self.state.withLock { $0.sent += 1 }
        let outcome = Promise<Result<Payload, LinkspanError>>()
        try connection.perform(
            Command(kind, event: event, payload: payload, timeout: limit) { outcome.fulfill($0) })
        return try await outcome.value.get()
    }

    private func isAwaited(_ message: Message) -> Bool {
        guard let until = self.until else { return false }
        guard self.output.isRaw else { return message.event == until }
        return message.payload[0]?.string?.contains(until) == true
    }
}

extension Duration {
    /// Whole milliseconds.
    fileprivate var milliseconds: Int { Int(self / .milliseconds(1)) }
}
