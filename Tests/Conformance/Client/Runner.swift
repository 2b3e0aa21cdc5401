internal import LinkspanLWS
internal import LinkspanRuntime
internal import LinkspanWebSocketClient
internal import LinkspanWebSocketProtocol

/// Runs every case that the server has.
struct Runner: Sendable {
    let options: Options
    let loop: EventLoop

    /// Runs the cases, some at a time.
    ///
    /// - Returns: what could not be run, and why.
    func run() async throws -> [String] {
        let count = try await self.ask("/getCaseCount")
        guard let total = Int(count) else { throw Options.Failure(message: "the server counts '\(count)' cases") }
        return await withTaskGroup(of: String?.self) { group in
            var failures: [String] = []
            var isRunning = 0
            for number in 1...max(total, 1) where number <= total {
                if isRunning == self.options.parallel {
                    if let failure = await group.next() ?? nil { failures.append(failure) }
                    isRunning -= 1
                }
                group.addTask { await self.runCase(number) }
                isRunning += 1
            }
            for await failure in group {
                if let failure { failures.append(failure) }
            }
            return failures
        }
    }

    private func runCase(_ number: Int) async -> String? {
        let conversation = Conversation(echoes: true)
        switch await conversation.run("/runCase?case=\(number)&agent=\(self.options.agent)", self) {
        // The server drops the connection in the midst of some cases: that is for it to judge.
        case .closed, .stream: return nil
        case .handshake(let error): return "case \(number): \(error)"
        case .silent, .aborted: return "case \(number) does not end"
        }
    }

    private func ask(_ target: String) async throws -> String {
        let conversation = Conversation(echoes: false)
        let end = await conversation.run(target, self)
        guard let answer = conversation.answer else {
            throw Options.Failure(message: "the server does not answer \(target): \(end)")
        }
        return answer
    }

    /// What a connection for `target` is made with.
    func request(_ target: String) -> WebSocketRequest {
        let tls = self.options.authority.map { TLSOptions(trustRoots: .file($0)) } ?? TLSOptions()
        return WebSocketRequest(
            upgrade: UpgradeRequest(
                host: self.options.host, port: self.options.port, isSecure: self.options.authority != nil,
                target: target, tls: tls, deadline: .seconds(60)),
            // Larger than the largest case, which has 16 MiB.
            limits: .defaults { limits in
                limits.maxMessageBytes = 32 << 20
                limits.maxFragments = 1 << 20
            },
            compression: .defaults { $0.threshold = 0 })
    }
}

/// One connection, which returns what it gets, or keeps it.
final class Conversation: WebSocketChannelHandler {
    /// How long a case may take.
    private static let deadline = Duration.seconds(480)

    private struct State: Sendable {
        var channel: WebSocketChannel?
        var end: WebSocketEnd?
        var waiter: CheckedContinuation<WebSocketEnd, Never>?
        var answer: String?
    }

    private let echoes: Bool
    private let state = Lock(State())

    init(echoes: Bool) { self.echoes = echoes }

    /// The last text that came.
    var answer: String? { self.state.withLock { $0.answer } }

    /// Connects, and waits for the end.
    func run(_ target: String, _ runner: Runner) async -> WebSocketEnd {
        let channel: WebSocketChannel
        do {
            channel = try WebSocketChannel(runner.request(target), on: runner.loop, handler: self)
        } catch {
            return .handshake(error)
        }
        self.state.withLock { $0.channel = channel }
        channel.open()
        let timer = runner.loop.schedule(after: Self.deadline) { channel.abort() }
        let end = await withCheckedContinuation { waiter in
            let end = self.state.withLock { state in
                if state.end == nil { state.waiter = waiter }
                return state.end
            }
            if let end { waiter.resume(returning: end) }
        }
        timer.cancel()
        return end
    }

    func opened(subprotocol: String?) {}

    func received(_ messages: [WebSocketMessage]) {
        let channel = self.state.withLock { $0.channel }
        for message in messages {
            switch message {
            case .text(let text) where !self.echoes:
                self.state.withLock { $0.answer = String(decoding: text, as: UTF8.self) }
            case .text(let text):
                _ = channel?.send(.text, expectedLength: text.count) { $0.append(contentsOf: text) }
            case .binary(let bytes):
                _ = channel?.send(.binary, expectedLength: bytes.count) { $0.append(contentsOf: bytes) }
            }
        }
    }

    func drained() {}

    func closed(_ end: WebSocketEnd) {
        let waiter = self.state.withLock { state in
            defer { state = State(end: end, answer: state.answer) }
            return state.waiter
        }
        waiter?.resume(returning: end)
    }
}
