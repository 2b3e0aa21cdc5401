internal import LinkspanRuntime

/// One HTTP/1.1 request and its answer, over a connection of its own.
///
/// A server may hold its answer back for as long as the request's deadline allows, which is 30 minutes at most here.
public final class HTTPExchange: Sendable {
    /// What is asked.
    public enum Method: Sendable, Hashable {
        /// A GET request.
        case get
        /// A POST request with this body.
        case post([UInt8])
    }

    /// What was answered, whatever the status.
    public struct Answer: Sendable {
        /// The status and what else is looked at.
        public var head: ResponseHead
        /// The body, without its transfer coding; empty when its parts were heard as they came.
        public var body: [UInt8]
    }

    /// Hears the outcome, once, on the loop's thread.
    public typealias Completion = @Sendable (Result<Answer, ByteStreamError>) -> Void

    private let stream: ByteStream

    init(
        _ request: UpgradeRequest, _ method: Method, limit: Int, on loop: EventLoop,
        onBody: (@Sendable ([UInt8]) -> Void)?, completion: @escaping Completion
    ) {
        var request = request
        let body: [UInt8]
        switch method {
        case .get:
            body = []
            request.exchange = UpgradeRequest.Exchange(method: "GET", bodyLength: 0)
        case .post(let bytes):
            body = bytes
            request.exchange = UpgradeRequest.Exchange(method: "POST", bodyLength: bytes.count)
        }
        let collector = AnswerCollector(limit: limit, onBody: onBody, completion: completion)
        self.stream = loop.connect(request, sending: body, handler: collector)
        collector.begin(self.stream)
    }

    /// Gives the exchange up, unless it is over; it ends with `closedByUs`.
    public func cancel() { self.stream.abort() }

    /// Stops reading the answer, so that the server has to wait; the deadline goes on.
    public func pauseReading() { self.stream.pauseReading() }

    /// Reads on.
    public func resumeReading() { self.stream.resumeReading() }
}

extension EventLoop {
    /// Begins an exchange, and returns at once.
    ///
    /// - Parameters:
    ///   - request: where to and with which headers; its deadline is for the whole exchange.
    ///   - method: what is asked.
    ///   - limit: the most bytes of the answer's body, of which a refusal may have 1 MiB; above it the exchange ends with
    ///     `answerTooLong`.
    ///   - onBody: hears the body of an answer with status 200 part by part, on the loop's thread; nil to have it all at once.
    ///   - completion: hears the outcome.
    /// - Returns: the exchange, to cancel it.
    public func exchange(
        _ request: UpgradeRequest, _ method: HTTPExchange.Method, limit: Int,
        onBody: (@Sendable ([UInt8]) -> Void)? = nil,
        completion: @escaping HTTPExchange.Completion
    ) -> HTTPExchange {
        HTTPExchange(request, method, limit: limit, on: self, onBody: onBody, completion: completion)
    }
}

/// Gathers the body of an answer.
private final class AnswerCollector: ByteStreamHandler {
    private struct State: Sendable {
        var stream: ByteStream?
        var head: ResponseHead?
        var body: [UInt8] = []
        var count = 0
        var limit = 0
        var isTooLong = false
    }

    /// The most bytes of an answer that is a refusal, whose body nobody reads in full.
    private static let refusalLimit = 1 << 20

    private let limit: Int
    private let onBody: (@Sendable ([UInt8]) -> Void)?
    private let completion: HTTPExchange.Completion
    private let state = Lock(State())

    init(
        limit: Int, onBody: (@Sendable ([UInt8]) -> Void)?, completion: @escaping HTTPExchange.Completion
    ) {
        self.limit = limit
        self.onBody = onBody
        self.completion = completion
    }

    func begin(_ stream: ByteStream) { self.state.withLock { $0.stream = stream } }

    func opened(_ head: ResponseHead) {
        let excessive = self.state.withLock { state -> ByteStream? in
            state.head = head
            state.limit = head.status == 200 ? self.limit : min(self.limit, Self.refusalLimit)
            // What is announced need not be read to be too much.
            state.isTooLong = head.length.map { $0 > state.limit } ?? false
            return state.isTooLong ? state.stream : nil
        }
        excessive?.abort()
    }

    func received(_ bytes: [UInt8]) {
        let (excessive, onBody) = self.state.withLock { state -> (ByteStream?, (@Sendable ([UInt8]) -> Void)?) in
            guard !state.isTooLong, bytes.count <= state.limit - state.count else {
                state.isTooLong = true
                state.body = []
                return (state.stream, nil)
            }
            state.count += bytes.count
            if let onBody = self.onBody, state.head?.status == 200 { return (nil, onBody) }
            state.body += bytes
            return (nil, nil)
        }
        excessive?.abort()
        onBody?(bytes)
    }

    func readTurnEnded() {}

    func drained() {}

    func closed(_ reason: ByteStreamError) {
        let result = self.state.withLock { state -> Result<HTTPExchange.Answer, ByteStreamError> in
            state.stream = nil
            guard !state.isTooLong else {
                return .failure(ByteStreamError(.answerTooLong, "the answer is longer than \(state.limit) bytes"))
            }
            // A body of untold length ends with the connection (RFC 9112 section 6.3).
            guard let head = state.head, reason.code == .completed || (reason.code == .closedByPeer && !head.hasBody)
            else { return .failure(reason) }
            return .success(HTTPExchange.Answer(head: head, body: state.body))
        }
        self.completion(result)
    }
}
