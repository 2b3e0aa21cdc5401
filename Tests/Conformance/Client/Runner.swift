internal import LinkspanBackEnds
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// Runs every case that the server has.
struct Runner: Sendable {
    let options: Options
    let loop: any NetworkLoop

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
        let conversation = Conversation(echoes: true, on: self.loop)
        switch await conversation.run("/runCase?case=\(number)&agent=\(self.options.agent)", self) {
        // The server drops the connection in the midst of some cases: that is for it to judge.
        case .closed, .stream: return nil
        case .handshake(let error): return "case \(number): \(error)"
        case .silent, .aborted: return "case \(number) does not end"
        }
    }

    private func ask(_ target: String) async throws -> String {
        let conversation = Conversation(echoes: false, on: self.loop)
        let end = await conversation.run(target, self)
        guard let answer = conversation.answer else {
            throw Options.Failure(message: "the server does not answer \(target): \(end)")
        }
        return answer
    }

    /// What a connection for `target` is made with.
    func request(_ target: String) -> StreamRequest {
        let tls = self.options.authority.map { TLSPolicy(roots: .file($0)) } ?? .system
        return StreamRequest(
            host: self.options.host, port: self.options.port, isSecure: self.options.authority != nil,
            target: target, tls: tls, deadline: .seconds(60))
    }
}

/// One connection, which returns what it gets, or keeps it.
final class Conversation: WebSocketChannelHandler, Sendable {
    /// How long a case may take.
    private static let deadline = Duration.seconds(480)

    private let echoes: Bool
    private let loop: any NetworkLoop
    private let channel: Confined<WebSocketChannel?>
    private let lastText = Lock<String?>(nil)
    private let waiter: Confined<CheckedContinuation<WebSocketEnd, Never>?>

    init(echoes: Bool, on loop: any NetworkLoop) {
        self.echoes = echoes
        self.loop = loop
        self.channel = Confined(nil, to: loop)
        self.waiter = Confined(nil, to: loop)
    }

    /// The last text that came.
    var answer: String? { self.lastText.withLock { $0 } }

    /// Connects, and waits for the end.
    func run(_ target: String, _ runner: Runner) async -> WebSocketEnd {
        let timer = self.loop.schedule(at: .now + Self.deadline) { self.channel.value?.abort() }
        let end = await withCheckedContinuation { waiter in
            self.loop.execute { self.open(runner.request(target), waiter) }
        }
        timer.cancel()
        return end
    }

    private func open(_ request: StreamRequest, _ waiter: CheckedContinuation<WebSocketEnd, Never>) {
        self.waiter.value = waiter
        // Larger than the largest case, which has 16 MiB.
        let limits = WebSocketLimits { limits in
            limits.maxMessageBytes = 32 << 20
            limits.maxFragments = 1 << 20
        }
        self.channel.value = WebSocketChannel(
            request, compression: .init { $0.threshold = 0 }, terms: WebSocketTerms(limits: limits), on: self.loop,
            handler: self)
    }

    func opened(_ head: ResponseHead, subprotocol: String?) {}

    func received(_ next: () -> WebSocketMessage?) {
        let channel = self.channel.value
        while let message = next() {
            switch message {
            case .text(let text) where !self.echoes:
                self.lastText.withLock { $0 = String(decoding: text, as: UTF8.self) }
            case .text(let text):
                _ = channel?.send(.text, length: text.count) { $0.append(contentsOf: text) }
            case .binary(let bytes):
                _ = channel?.send(.binary, length: bytes.count) { $0.append(contentsOf: bytes) }
            }
        }
    }

    func writable() {}

    func closed(_ end: WebSocketEnd) {
        let waiter = self.waiter.value
        (self.waiter.value, self.channel.value) = (nil, nil)
        waiter?.resume(returning: end)
    }
}
