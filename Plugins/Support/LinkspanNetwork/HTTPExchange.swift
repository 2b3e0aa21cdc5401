/// The response to a GET or a POST, of any status.
package struct HTTPAnswer: Sendable {
    /// The status and the header fields.
    package var head: ResponseHead
    /// The body, without its transfer coding; empty when its parts were delivered as they arrived.
    package var body: [UInt8]
}

extension NetworkLoop {
    /// Begins one HTTP/1.1 exchange, and returns at once.
    ///
    /// A server may hold its answer back for as long as the request's deadline allows, which is 30 minutes at most here.
    ///
    /// - Parameters:
    ///   - request: a GET or a POST; its deadline is for the whole exchange.
    ///   - kept: the connections to the same server that it may use, and leaves its own to; nil for one of its own, which
    ///     ends with the exchange.
    ///   - limit: the most bytes of the answer's body, of which a refusal may have 1 MiB; above it the exchange ends
    ///     with `answerTooLong`.
    ///   - onBody: gets the body of a response with status 200 part by part; nil to get it at once.
    ///   - completion: gets the outcome, once, on the loop.
    /// - Returns: the exchange's stream, to abort it or to pause reading.
    @discardableResult
    package func exchange(
        _ request: StreamRequest, over kept: KeptConnections? = nil, limit: Int, onBody: (([UInt8]) -> Void)? = nil,
        completion: @escaping (Result<HTTPAnswer, ByteStreamError>) -> Void
    ) -> any ByteStream {
        let collector = AnswerCollector(limit: limit, onBody: onBody, completion: completion)
        var request = request
        request.keepsConnection = kept != nil
        let stream = self.connect(request, handler: collector, over: kept)
        collector.stream = stream
        return stream
    }
}

/// Gathers the body of an answer.
private final class AnswerCollector: ByteStreamHandler {
    /// The most bytes of an answer that is a refusal, whose body nobody reads in full.
    private static let refusalLimit = 1 << 20

    /// Nil once it has ended.
    var stream: (any ByteStream)?
    private let onBody: (([UInt8]) -> Void)?
    private let completion: (Result<HTTPAnswer, ByteStreamError>) -> Void
    private var head: ResponseHead?
    private var body: [UInt8] = []
    private var count = 0
    private var limit: Int
    private var isTooLong = false

    init(limit: Int, onBody: (([UInt8]) -> Void)?, completion: @escaping (Result<HTTPAnswer, ByteStreamError>) -> Void)
    {
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

    private func result(_ reason: ByteStreamError) -> Result<HTTPAnswer, ByteStreamError> {
        guard !self.isTooLong else {
            return .failure(
                ByteStreamError(
                    .answerTooLong, "the answer is larger than the \(self.limit) bytes that are accepted here"))
        }
        guard let head = self.head, reason.code == .completed else { return .failure(reason) }
        return .success(HTTPAnswer(head: head, body: self.body))
    }
}
