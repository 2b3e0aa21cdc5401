internal import Linkspan
internal import LinkspanLWS
internal import LinkspanRuntime
internal import LinkspanWebSocketClient

/// Carries packets in the bodies of HTTP requests and their answers: a GET that the server holds until it has something
/// to say, and a POST whenever this side has.
final class PollingCarrier: EngineCarrier {
    private enum Phase: Sendable, Equatable {
        case idle
        /// The first GET is on its way: the handshake.
        case opening
        case open
        case ended
    }

    private struct State: Sendable {
        var phase = Phase.idle
        var session: PollingSession
        var sid: String?
        var patience: Duration
        var cookies = CookieJar()
        var requests = 0
        var exchanges: [Int: HTTPExchange] = [:]
        /// The number of the last GET, and what takes its answer apart.
        var poll = 0
        var decoder: PollingDecoder
        /// Whether the loop will look for something to begin without being asked.
        var isPumpDue = false
        var onQuiet: (@Sendable () -> Void)?
        /// What has taken over.
        var successor: WebSocketCarrier?
    }

    private static let closeDeadline = Duration.seconds(5)
    /// The most bytes of the handshake's answer.
    private static let handshakeLimit = 1 << 20

    private let request: CarrierRequest
    private let loop: EventLoop
    private let handler: any EngineCarrierHandler
    private let state: Lock<State>

    init(_ request: CarrierRequest, loop: EventLoop, handler: any EngineCarrierHandler) {
        self.request = request
        self.loop = loop
        self.handler = handler
        let session = PollingSession(version: request.version, highWaterMark: request.configuration.highWaterMark)
        self.state = Lock(
            State(session: session, patience: request.link.deadline, decoder: PollingDecoder(for: request)))
    }

    /// The cookies for a request that takes the session elsewhere.
    var cookie: String? { self.state.withLock { self.cookie($0) } }

    func open() {
        self.loop.execute {
            let mayOpen = self.state.withLock { state in
                guard state.phase == .idle else { return false }
                state.phase = .opening
                return true
            }
            if mayOpen { self.poll() }
        }
    }

    func sessionOpened(_ handshake: EngineIOHandshake) {
        self.state.withLock { state in
            guard state.phase == .opening else { return }
            state.phase = .open
            state.sid = handshake.sid
            // Above what a server holds a poll back for: then the heartbeat decides, which knows better.
            state.patience = handshake.patience + .seconds(10)
            if let most = handshake.maxPayload { state.session.maximumPayload = most }
        }
        self.requestPump()
    }

    func send(
        expectedLength: Int, attachments: [ArraySlice<UInt8>], write: (inout [UInt8]) -> Void
    ) -> WebSocketChannel.SendResult {
        var text: [UInt8] = []
        text.reserveCapacity(expectedLength)
        write(&text)
        return self.send([.text(text[...])] + attachments.map { WebSocketMessage.binary($0) })
    }

    func send(_ packets: [WebSocketMessage]) -> WebSocketChannel.SendResult {
        let (acceptance, successor) = self.state.withLock { state in
            (state.session.enqueue(packets), state.successor)
        }
        switch acceptance {
        case .refused:
            return successor?.send(packets) ?? .notOpen
        case .taken:
            self.requestPump()
            return .sent
        case .full:
            self.requestPump()
            return .full
        }
    }

    func close() {
        self.loop.execute {
            guard self.state.withLock({ $0.phase == .open }) else { return self.abort() }
            self.state.withLock { $0.session.close() }
            self.loop.schedule(after: Self.closeDeadline) { [weak self] in self?.end(Self.closedByUs) }
            self.pump()
        }
    }

    func abort() { self.loop.execute { self.end(Self.closedByUs) } }

    func pauseReading() {
        let poll = self.state.withLock { state in
            state.session.setReadingPaused(true)
            return state.exchanges[state.poll]
        }
        // An answer may have millions of packets.
        poll?.pauseReading()
    }

    func resumeReading() {
        let poll = self.state.withLock { state in
            state.session.setReadingPaused(false)
            return state.exchanges[state.poll]
        }
        poll?.resumeReading()
        self.requestPump()
    }

    private static let closedByUs = LinkspanError(.connectionLost, "closed by this side")
}

// MARK: - Handing the session over, on the loop's thread

extension PollingCarrier {
    /// Begins no further request; `onQuiet` is called when none is under way, unless polling ends or resumes before.
    func pause(_ onQuiet: @escaping @Sendable () -> Void) {
        self.state.withLock { state in
            state.session.pause()
            state.onQuiet = onQuiet
        }
        self.pump()
    }

    /// Polls on after ``pause(_:)``.
    func resume() {
        self.state.withLock { state in
            state.session.resume()
            state.onQuiet = nil
        }
        self.pump()
    }

    /// Ends silently, and lets `successor` send what was not posted and everything after it.
    func handOver(to successor: WebSocketCarrier) {
        self.state.withLock { state in
            state.phase = .ended
            // Within the lock, so that no packet of another thread comes in between.
            successor.takeOver(state.session.handOver())
            state.successor = successor
        }
    }
}

// MARK: - Requests, on the loop's thread

extension PollingCarrier {
    private func requestPump() {
        let isNeeded = self.state.withLock { state in
            defer { state.isPumpDue = true }
            return !state.isPumpDue
        }
        if isNeeded { self.loop.execute { self.pump() } }
    }

    /// Begins what may be begun.
    private func pump() {
        let (requests, onQuiet) = self.state.withLock { state -> ([PollingSession.Request], (@Sendable () -> Void)?) in
            state.isPumpDue = false
            guard state.phase == .open else { return ([], nil) }
            let requests = state.session.next()
            guard state.session.isQuiet else { return (requests, nil) }
            defer { state.onQuiet = nil }
            return (requests, state.onQuiet)
        }
        for request in requests {
            switch request {
            case .poll: self.poll()
            case .post(let packets): self.post(packets)
            }
        }
        onQuiet?()
        if self.state.withLock({ $0.phase == .open && $0.session.isClosed }) { self.end(Self.closedByUs) }
    }

    private func poll() {
        let isFirst = self.state.withLock { state in
            state.poll = state.requests + 1
            state.decoder = PollingDecoder(for: self.request)
            return state.phase == .opening
        }
        guard !isFirst else {
            return self.exchange(.get, limit: Self.handshakeLimit) { [weak self] answer in self?.opened(answer) }
        }
        self.exchange(.get, limit: self.answerLimit, onBody: { [weak self] part in self?.received(part) }) {
            [weak self] answer in self?.polled(answer)
        }
    }

    private func post(_ packets: [WebSocketMessage]) {
        var body: [UInt8] = []
        switch self.request.version {
        case .v4: PollingPayload.append(packets, to: &body)
        case .v3: LegacyPollingPayload.append(packets, to: &body)
        }
        self.exchange(.post(body), limit: Self.handshakeLimit) { [weak self] answer in self?.posted(answer) }
    }

    private func exchange(
        _ method: HTTPExchange.Method, limit: Int, onBody: (@Sendable ([UInt8]) -> Void)? = nil,
        _ completion: @escaping @Sendable (Result<HTTPExchange.Answer, ByteStreamError>) -> Void
    ) {
        let (number, sid, patience, cookie) = self.state.withLock { state in
            state.requests += 1
            return (state.requests, state.sid, state.patience, self.cookie(state))
        }
        var headers: [(name: String, value: String)] = []
        if method != .get { headers.append((name: "Content-Type", value: "text/plain; charset=UTF-8")) }
        var request = self.request.upgrade(
            transport: "polling", sid: sid, query: [(name: "t", value: "\(number)")], cookie: cookie,
            headers: headers)
        request.deadline = patience
        let exchange = self.loop.exchange(request, method, limit: limit, onBody: onBody) { [weak self] result in
            guard let self else { return }
            self.state.withLock { state in
                state.exchanges[number] = nil
                let path = self.request.configuration.path
                for cookie in (try? result.get().head.cookies) ?? [] { state.cookies.set(cookie, path: path) }
            }
            completion(result)
        }
        self.state.withLock { $0.exchanges[number] = exchange }
    }

    private func cookie(_ state: State) -> String? {
        state.cookies.header(path: self.request.configuration.path, isSecure: self.request.link.url.isSecure)
    }

    /// A message in base64, and room for small ones beside it.
    private var answerLimit: Int { self.request.configuration.maximumMessageBytes / 3 * 4 + 65_536 }

    /// The handshake is there.
    private func opened(_ result: Result<HTTPExchange.Answer, ByteStreamError>) {
        guard self.state.withLock({ $0.phase }) == .opening else { return }
        do {
            let packets = try self.packets(of: PollingAnswer.body(of: result, isFirst: true))
            self.state.withLock { $0.session.polled() }
            self.handler.carrierOpened()
            self.handler.carrierReceived(packets)
            self.pump()
        } catch {
            self.end(error)
        }
    }

    /// A part of an answer is there.
    private func received(_ part: [UInt8]) {
        self.take { decoder throws(SocketIOProtocolError) in try decoder.receive(part) }
    }

    private func polled(_ result: Result<HTTPExchange.Answer, ByteStreamError>) {
        guard self.state.withLock({ $0.phase }) == .open else { return }
        do {
            _ = try PollingAnswer.body(of: result, isFirst: false)
        } catch {
            return self.end(error)
        }
        self.state.withLock { $0.session.polled() }
        self.take { decoder throws(SocketIOProtocolError) in try decoder.finish() }
        self.pump()
    }

    /// Hands on the packets that are complete.
    private func take(_ body: (inout PollingDecoder) throws(SocketIOProtocolError) -> [WebSocketMessage]) {
        do throws(SocketIOProtocolError) {
            let packets = try self.state.withLock { state throws(SocketIOProtocolError) in
                state.phase == .open ? try body(&state.decoder) : []
            }
            if !packets.isEmpty { self.handler.carrierReceived(packets) }
        } catch {
            self.end(LinkspanError(error))
        }
    }

    private func packets(of body: [UInt8]) throws(LinkspanError) -> [WebSocketMessage] {
        if self.request.version == .v4, LegacyPollingPayload.isHandshake(body[...]) {
            throw LinkspanError(.unsupportedVersion, "the server speaks Engine.IO v3: \(PollingAnswer.advice)")
        }
        do throws(SocketIOProtocolError) {
            switch self.request.version {
            case .v3: return try LegacyPollingPayload.decode(body[...])
            case .v4: return try PollingPayload.decode(body[...])
            }
        } catch {
            throw LinkspanError(error)
        }
    }

    private func posted(_ result: Result<HTTPExchange.Answer, ByteStreamError>) {
        guard self.state.withLock({ $0.phase }) != .ended else { return }
        do {
            _ = try PollingAnswer.body(of: result, isFirst: false)
            let isDrained = self.state.withLock { $0.session.posted() }
            if isDrained { self.handler.carrierDrained() }
            self.pump()
        } catch {
            self.end(error)
        }
    }

    private func end(_ error: LinkspanError) {
        let (isEnd, exchanges) = self.state.withLock { state -> (Bool, [HTTPExchange]) in
            guard state.phase != .ended else { return (false, []) }
            state.phase = .ended
            state.session.end()
            state.onQuiet = nil
            defer { state.exchanges = [:] }
            return (true, Array(state.exchanges.values))
        }
        for exchange in exchanges { exchange.cancel() }
        if isEnd { self.handler.carrierClosed(error) }
    }
}

extension PollingDecoder {
    fileprivate init(for request: CarrierRequest) {
        self.init(version: request.version, maximumBytes: request.configuration.maximumMessageBytes)
    }
}
