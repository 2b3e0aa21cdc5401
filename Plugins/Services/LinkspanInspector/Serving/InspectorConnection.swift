internal import LinkspanNetwork
internal import LinkspanRuntime
internal import LinkspanWebSocketProtocol

/// Answers the requests and carries out the commands of the inspector's connections.
protocol InspectorConnectionDelegate: AnyObject {
    var loop: any NetworkLoop { get }

    func serve(_ request: HTTPRequest, on connection: InspectorConnection)
    func perform(_ command: PageCommand, for page: InspectorConnection)
    /// Forgets a connection that has ended.
    func remove(_ connection: InspectorConnection)
}

/// One TCP connection to the inspector: one request, and its answer or the live feed.
///
/// Lives on the inspector's loop.
final class InspectorConnection: ByteStreamHandler {
    private enum Phase {
        case request(HTTPRequestParser)
        case feed(WebSocketSession)
        case ended
    }

    /// The most bytes of a message from a page.
    static let maximumMessageBytes = 4 * 1024
    /// A page that is further behind than this misses batches, which a later one makes up for.
    static let maximumWaitingBytes = 256 * 1024
    /// The most that is read of a client that is being turned away.
    private static let farewellBytes = 64 * 1024
    /// The time limit for the request.
    private static let requestTimeout = Duration.seconds(10)

    let began = ContinuousClock.now
    private let stream: any ByteStream
    /// Weak, because the loop holds the connection until its stream has ended, which may be after the service.
    private weak var delegate: (any InspectorConnectionDelegate)?
    private var phase: Phase
    private var deadline: (any ScheduledWork)?
    /// The position of the page in the recording.
    var cursor = PageCursor()

    init(stream: any ByteStream, delegate: some InspectorConnectionDelegate) {
        self.stream = stream
        self.delegate = delegate
        self.phase = .request(HTTPRequestParser(limits: .init(bodyBytes: 0)))
        self.deadline = delegate.loop.scheduleLocally(after: Self.requestTimeout) { [weak self] in
            self?.abortUnlessFeed()
        }
    }

    /// Whether the live feed is open.
    var isFeed: Bool { if case .feed = self.phase { true } else { false } }

    /// Whether the page keeps up with its feed.
    var hasRoom: Bool { self.stream.pendingBytes < Self.maximumWaitingBytes }

    func opened(_ head: ResponseHead) {}
    func writable() {}

    func received(_ bytes: [UInt8]) {
        switch self.phase {
        case .request(var parser):
            // The parser is taken out so that it is changed in place.
            self.phase = .ended
            parser.receive(bytes)
            self.phase = .request(parser)
            self.serve()
        case .feed(var session):
            self.phase = .ended
            session.receive(bytes[...])
            self.phase = .feed(session)
            self.hear()
        case .ended: ()
        }
    }

    func closed(_ reason: ByteStreamError) {
        self.deadline?.cancel()
        self.phase = .ended
        self.delegate?.remove(self)
    }

    func abort() { self.stream.abort() }

    private func abortUnlessFeed() { if !self.isFeed { self.stream.abort() } }
}

// MARK: - The request

extension InspectorConnection {
    private func serve() {
        guard case .request(var parser) = self.phase else { return }
        guard !parser.isFlooded else { return self.stream.abort() }
        do throws(HTTPRequestError) {
            let request = try parser.next()
            self.phase = .request(parser)
            if let request { self.delegate?.serve(request, on: self) }
        } catch {
            self.respond(.refusal(status: error.status, error.message))
        }
    }

    /// Answers the request, and ends the connection.
    func respond(_ response: HTTPResponse) {
        self.phase = .ended
        var response = response
        response.fields += [
            ("X-Content-Type-Options", "nosniff"), ("X-Frame-Options", "DENY"), ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"), ("Cross-Origin-Opener-Policy", "same-origin"),
        ]
        self.stream.write { response.append(to: &$0, isPersistent: false) }
        self.stream.finish(readingAtMost: Self.farewellBytes)
    }

    /// Makes the connection the live feed; false when the request is no valid upgrade, which has been answered then.
    func upgrade(_ request: HTTPRequest, subprotocol: String?) -> Bool {
        guard case .request(var parser) = self.phase else { return false }
        do throws(WebSocketProtocolError) {
            let handshake = try ServerHandshake(subprotocols: subprotocol.map { [$0] } ?? [])
            let answer = try handshake.accept(method: request.method, headers: request.values)
            let limits = WebSocketLimits { $0.maxMessageBytes = Self.maximumMessageBytes }
            self.phase = .feed(WebSocketSession(role: .server, limits: limits))
            self.stream.write {
                HTTPResponse(status: answer.status, fields: answer.headers).append(to: &$0, isPersistent: true)
            }
        } catch {
            let answer = ServerHandshake.rejection(for: error)
            self.respond(HTTPResponse(status: answer.status, fields: answer.headers.filter { $0.name != "Connection" }))
            return false
        }
        self.deadline?.cancel()
        let rest = parser.takeRest()
        if !rest.isEmpty { self.delegate?.loop.executeLocally { [weak self] in self?.received(rest) } }
        return true
    }
}

// MARK: - The feed

extension InspectorConnection {
    /// Sends a text message.
    func send(_ text: [UInt8]) {
        self.withSession { session, output in _ = session.send(.text, payload: text[...], into: &output) }
    }

    /// Says goodbye with a Close frame.
    func close(_ code: CloseCode, reason: String) {
        guard self.isFeed else { return self.stream.abort() }
        self.withSession { session, output in _ = session.close(code, reason: reason, into: &output) }
        self.stream.finish(readingAtMost: Self.farewellBytes)
    }

    private func hear() {
        while let event = self.nextEvent() {
            switch event {
            case .text(let text):
                guard let command = PageCommand(text) else {
                    return self.close(.policyViolation, reason: "not a command of the inspector")
                }
                self.delegate?.perform(command, for: self)
            case .binary: return self.close(.policyViolation, reason: "the inspector takes text")
            case .pong: ()
            case .closed: return self.stream.finish(readingAtMost: Self.farewellBytes)
            }
        }
    }

    private func nextEvent() -> WebSocketSession.Event? {
        var event: WebSocketSession.Event?
        self.withSession { session, output in event = session.next(into: &output) }
        return event
    }

    private func withSession(_ body: (inout WebSocketSession, inout [UInt8]) -> Void) {
        guard case .feed(var session) = self.phase else { return }
        var output: [UInt8] = []
        self.phase = .ended
        body(&session, &output)
        self.phase = .feed(session)
        if !output.isEmpty { self.stream.write { $0.append(contentsOf: output) } }
    }
}
