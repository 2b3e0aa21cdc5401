/// One HTTP/1.1 request and its answer, over a connection of its own.
///
/// A server may hold its answer back for as long as the request's deadline allows, which is 30 minutes at most here.
package final class HTTPExchange {
    /// The method of the request.
    package enum Method: Sendable, Hashable {
        /// A GET request.
        case get
        /// A POST request with this body.
        case post([UInt8])
    }

    /// The response, of any status.
    package struct Answer: Sendable {
        /// The status and the header fields in use.
        package var head: ResponseHead
        /// The body, without its transfer coding; empty when its parts were delivered as they arrived.
        package var body: [UInt8]

        /// Makes an answer.
        package init(head: ResponseHead, body: [UInt8]) {
            self.head = head
            self.body = body
        }
    }

    /// A closure that gets the outcome, once, on the loop.
    package typealias Completion = (Result<Answer, ByteStreamError>) -> Void

    private let stream: any ByteStream

    fileprivate init(stream: any ByteStream) { self.stream = stream }

    /// Gives the exchange up, unless it is over; it ends with `closedByUs`.
    package func cancel() { self.stream.abort() }

    /// The step that the exchange is waiting for; nil once the response has begun.
    package var openingStage: OpeningStage? { self.stream.openingStage }

    /// Stops reading the answer, so that the server has to wait, or reads on; the deadline goes on.
    package func setReadingPaused(_ isPaused: Bool) { self.stream.setReadingPaused(isPaused) }
}

extension NetworkLoop {
    /// Begins an exchange, and returns at once.
    ///
    /// - Parameters:
    ///   - request: where to and with which headers; its deadline is for the whole exchange.
    ///   - method: the method and its body.
    ///   - limit: the most bytes of the answer's body, of which a refusal may have 1 MiB; above it the exchange ends
    ///     with `answerTooLong`.
    ///   - onBody: gets the body of a response with status 200 part by part; nil to get it at once.
    ///   - completion: gets the outcome.
    /// - Returns: the exchange, to cancel it.
    package func exchange(
        _ request: UpgradeRequest, _ method: HTTPExchange.Method, limit: Int, onBody: (([UInt8]) -> Void)? = nil,
        completion: @escaping HTTPExchange.Completion
    ) -> HTTPExchange {
        var request = request
        let collector = AnswerCollector(limit: limit, onBody: onBody, completion: completion)
        var body: [UInt8] = []
        switch method {
        case .get: request.purpose = .get
        case .post(let given): (request.purpose, body) = (.post(bodyLength: given.count), given)
        }
        let stream = self.connect(request, handler: collector)
        if !body.isEmpty { stream.write { $0.append(contentsOf: body) } }
        collector.stream = stream
        return HTTPExchange(stream: stream)
    }
}

/// Gathers the body of an answer.
private final class AnswerCollector: ByteStreamHandler {
    /// The most bytes of an answer that is a refusal, whose body nobody reads in full.
    private static let refusalLimit = 1 << 20

    /// Nil once it has ended.
    var stream: (any ByteStream)?
    private let onBody: (([UInt8]) -> Void)?
    private let completion: HTTPExchange.Completion
    private var head: ResponseHead?
    private var body: [UInt8] = []
    private var count = 0
    private var limit: Int
    private var isTooLong = false

    init(limit: Int, onBody: (([UInt8]) -> Void)?, completion: @escaping HTTPExchange.Completion) {
        self.limit = limit
        self.onBody = onBody
        self.completion = completion
    }

    func opened(_ head: ResponseHead) {
        self.head = head
        if head.status != 200 { self.limit = min(self.limit, Self.refusalLimit) }
        // What is announced need not be read to be too much.
        if let length = head.length, length > self.limit { self.refuse() }
    }

    func received(_ bytes: [UInt8]) {
        guard !self.isTooLong, bytes.count <= self.limit - self.count else { return self.refuse() }
        self.count += bytes.count
        if let onBody = self.onBody, self.head?.status == 200 { return onBody(bytes) }
        self.body += bytes
    }

    private func refuse() {
        self.isTooLong = true
        self.body = []
        self.stream?.abort()
    }

    func writable() {}

    func closed(_ reason: ByteStreamError) {
        self.stream = nil
        self.completion(self.result(reason))
    }

    private func result(_ reason: ByteStreamError) -> Result<HTTPExchange.Answer, ByteStreamError> {
        guard !self.isTooLong else {
            return .failure(
                ByteStreamError(
                    .answerTooLong, "the answer is larger than the \(self.limit) bytes that are accepted here"))
        }
        guard let head = self.head, reason.code == .completed else { return .failure(reason) }
        return .success(HTTPExchange.Answer(head: head, body: self.body))
    }
}
