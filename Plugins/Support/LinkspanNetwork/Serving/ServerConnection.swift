internal import Linkspan
package import LinkspanWebSocketProtocol

/// The owner of a connection that has become a WebSocket, or whose request waits for an answer.
package protocol ConnectionOwner: AnyObject {
    /// Since when the owner has joined nothing; nil once it has.
    var unusedSince: ContinuousClock.Instant? { get }
    /// Messages have come: `next` gives one after the other, and nil behind the last.
    func received(_ next: () -> WebSocketMessage?, on connection: ServerConnection)
    /// It has ended, in whichever way; called once.
    func ended(_ connection: ServerConnection)
}

/// Serves the requests of connections.
package protocol RequestServer: AnyObject {
    func serve(_ request: HTTPRequest, on connection: ServerConnection)
    /// Checks the head of a request whose client waits with the body.
    ///
    /// - Returns: the reason to refuse the request, whatever its body; nil, the default, when there is none.
    func refusal(ofHead request: HTTPRequest) -> HTTPRequestError?
    /// Header fields that every answer has; by default none.
    var commonFields: [(name: String, value: String)] { get }
    /// Forgets a connection that has ended.
    func remove(_ connection: ServerConnection)
}

extension RequestServer {
    package func refusal(ofHead request: HTTPRequest) -> HTTPRequestError? { nil }

    package var commonFields: [(name: String, value: String)] { [] }
}

/// One accepted TCP connection: requests and answers, until it becomes a WebSocket or ends.
///
/// Lives on the loop.
package final class ServerConnection: ByteStreamHandler {
    /// The most that a client may take, in room and time.
    package struct Limits: Sendable {
        /// The most bytes of the body of a request, and of a message of a WebSocket.
        package var messageBytes: Int
        /// The most bytes that wait to be sent; a client that falls further behind is dropped.
        package var waitingBytes = 16 << 20
        /// The time for the first request.
        package var requestTimeout = Duration.seconds(10)
        /// The time that a connection may rest between two requests; nil to serve one request a connection.
        package var restTimeout: Duration?

        package init(messageBytes: Int) { self.messageBytes = messageBytes }
    }

    private enum Phase {
        case idle
        /// A request is being served.
        case busy(Exchange)
        case webSocket(WebSocketSession, any ConnectionOwner)
        case ended
    }

    /// A request that has come and is not answered.
    private struct Exchange {
        let isPersistent: Bool
        var isHead = false
        /// The page that may read the answer.
        var origin: String?
        /// The session that the request waits for.
        weak var owner: (any ConnectionOwner)?
    }

    /// The number of bytes that are still read of a client that is being turned away.
    private static let farewellBytes = 32 << 20
    /// The answer to a client that waits for it before it sends a body.
    private static let goOn = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)

    package let stream: any ByteStream
    private let clock: any ServerClock
    private let limits: Limits
    private let server: any RequestServer
    private var phase = Phase.idle
    private var parser: HTTPRequestParser
    private var isPumping = false
    /// The time at which the connection came in, or its last request was answered.
    private var restingSince = ContinuousClock.now
    /// Ends the connection when the next request is not complete in time.
    private lazy var deadline = ServerDeadline(self.clock) { [weak self] in self?.restedEnough() }

    package init(stream: any ByteStream, clock: any ServerClock, limits: Limits, server: any RequestServer) {
        self.stream = stream
        self.clock = clock
        self.limits = limits
        self.server = server
        self.parser = HTTPRequestParser(bodyBytes: limits.messageBytes)
    }

    /// Begins to count the time to the first request.
    package func begin() { self.deadline.set(self.restingSince + self.limits.requestTimeout) }

    // MARK: The stream's events

    package func opened(_ head: ResponseHead) {}
    package func writable() {}

    package func received(_ bytes: [UInt8]) { self.clock.arrive { self.process(bytes) } }

    package func closed(_ reason: ByteStreamError) {
        self.server.remove(self)
        self.deadline.set(nil)
        let phase = self.phase
        self.phase = .ended
        switch phase {
        case .busy(let exchange): exchange.owner?.ended(self)
        case .webSocket(_, let owner): owner.ended(self)
        case .idle, .ended: ()
        }
    }

    private func process(_ bytes: [UInt8]) {
        switch self.phase {
        case .webSocket: self.processFrames(bytes[...])
        case .ended: self.stream.abort()
        case .idle, .busy:
            self.parser.receive(bytes)
            if self.parser.isFlooded { self.stream.abort() } else { self.pump() }
        }
    }

    private func restedEnough() {
        if case .idle = self.phase { self.stream.abort() }
    }
}

extension ServerConnection: PlaceHolder {
    package var placeKey: ObjectIdentifier { ObjectIdentifier(self) }

    package var unusedSince: ContinuousClock.Instant? {
        switch self.phase {
        case .idle, .ended: self.restingSince
        case .busy(let exchange): exchange.owner?.unusedSince
        case .webSocket(_, let owner): owner.unusedSince
        }
    }
}

// MARK: - Requests

extension ServerConnection {
    /// Serves received requests, one after the other.
    private func pump() {
        guard !self.isPumping else { return }
        self.isPumping = true
        while case .idle = self.phase {
            do throws(HTTPRequestError) {
                guard let request = try self.parser.next() else { break }
                let isPersistent = request.isPersistent && self.limits.restTimeout != nil
                self.phase = .busy(Exchange(isPersistent: isPersistent, isHead: request.method == "HEAD"))
                self.server.serve(request, on: self)
            } catch {
                self.refuse(error)
            }
        }
        self.answerExpectation()
        self.isPumping = false
    }

    /// Answers a client that waits with the body of its request: to go on, or why the request is refused.
    private func answerExpectation() {
        guard case .idle = self.phase, let head = self.parser.takeExpectation() else { return }
        if let refusal = self.server.refusal(ofHead: head) { return self.refuse(refusal) }
        self.write { $0.append(contentsOf: Self.goOn) }
    }

    private func refuse(_ error: HTTPRequestError) {
        self.phase = .busy(Exchange(isPersistent: false))
        self.respond(.refusal(status: error.status, error.message))
    }

    /// Answers the request that is being served.
    package func respond(_ response: HTTPResponse) {
        guard case .busy(let exchange) = self.phase else { return }
        self.phase = exchange.isPersistent ? .idle : .ended
        var response = response
        response.fields += self.server.commonFields
        if let origin = exchange.origin { response.allow(origin) }
        self.write { response.append(to: &$0, isPersistent: exchange.isPersistent, forHead: exchange.isHead) }
        guard exchange.isPersistent, let restTimeout = self.limits.restTimeout else {
            return self.stream.finish(readingAtMost: Self.farewellBytes)
        }
        self.restingSince = .now
        self.deadline.set(self.restingSince + restTimeout)
        self.pump()
    }

    /// Allows a page of this origin to read the answer to the request that is being served.
    package func allow(_ origin: String?) { self.changeExchange { $0.origin = origin } }

    /// Keeps the request waiting for its owner's answer; the owner hears when the connection ends before that.
    package func wait(for owner: any ConnectionOwner) { self.changeExchange { $0.owner = owner } }

    private func changeExchange(_ change: (inout Exchange) -> Void) {
        guard case .busy(var exchange) = self.phase else { return }
        change(&exchange)
        self.phase = .busy(exchange)
    }

    /// Drops the connection.
    package func drop() {
        self.serveNoMore()
        self.stream.abort()
    }

    /// Leaves the requests that have come unserved.
    private func serveNoMore() {
        // The stream still has to report the end to its owner.
        if case .idle = self.phase { self.phase = .ended }
    }

    private func write(_ fill: (inout [UInt8]) -> Void) {
        if case .refused = self.stream.write(fill) { return self.serveNoMore() }
        if self.stream.pendingBytes > self.limits.waitingBytes { self.drop() }
    }
}

// MARK: - WebSocket

extension ServerConnection {
    /// Accepts the upgrade that the request asks for, or refuses it; returns whether it was accepted.
    package func upgrade(_ request: HTTPRequest, subprotocols: [String] = [], owner: any ConnectionOwner) -> Bool {
        do throws(WebSocketProtocolError) {
            let handshake = try ServerHandshake(subprotocols: subprotocols)
            let answer = try handshake.accept(method: request.method, headers: request.values)
            let limits = WebSocketLimits { $0.maxMessageBytes = self.limits.messageBytes }
            let session = WebSocketSession(role: .server, limits: limits)
            self.phase = .webSocket(session, owner)
            self.deadline.set(nil)
            self.write {
                HTTPResponse(status: answer.status, fields: answer.headers).append(to: &$0, isPersistent: true)
            }
        } catch {
            let answer = ServerHandshake.rejection(for: error)
            self.respond(HTTPResponse(status: answer.status, fields: answer.headers))
            return false
        }
        let rest = self.parser.takeRest()
        // After the requester knows that it is a WebSocket now.
        if !rest.isEmpty { self.clock.perform { self.process(rest) } }
        return true
    }

    /// Sends messages with nothing in between.
    package func send(_ messages: [WebSocketMessage]) {
        self.withSession { session, output in
            for message in messages { _ = session.send(message.opcode, payload: message.bytes, into: &output) }
        }
    }

    package func ping() { self.withSession { session, output in _ = session.ping(into: &output) } }

    package var isAwaitingPong: Bool {
        if case .webSocket(let session, _) = self.phase { session.isAwaitingPong } else { false }
    }

    /// Says goodbye with a Close frame; the owner gets the end.
    package func close(_ code: CloseCode, reason: String) {
        self.withSession { session, output in _ = session.close(code, reason: reason, into: &output) }
        self.stream.finish(readingAtMost: Self.farewellBytes)
    }

    private func withSession(_ body: (inout WebSocketSession, inout [UInt8]) -> Void) {
        guard case .webSocket(var session, let owner) = self.phase else { return }
        var output: [UInt8] = []
        // The session is taken out so that it is changed in place.
        self.phase = .ended
        body(&session, &output)
        self.phase = .webSocket(session, owner)
        if !output.isEmpty { self.write { $0.append(contentsOf: output) } }
    }

    private func processFrames(_ bytes: ArraySlice<UInt8>) {
        self.withSession { session, _ in session.receive(bytes) }
        guard case .webSocket(_, let owner) = self.phase else { return }
        owner.received({ self.nextMessage() }, on: self)
    }

    /// The next received message; nil after the last, and at the end of the WebSocket.
    private func nextMessage() -> WebSocketMessage? {
        while true {
            var event: WebSocketSession.Event?
            self.withSession { session, output in event = session.next(into: &output) }
            // Writing may have ended the connection.
            guard case .webSocket = self.phase, let event else { return nil }
            switch event {
            case .text(let text): return .text(text)
            case .binary(let data): return .binary(data)
            case .ping, .pong: ()
            case .closed:
                self.stream.finish(readingAtMost: Self.farewellBytes)
                return nil
            }
        }
    }
}
