internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The HTTP requests of one Engine.IO session: each with a number of its own, the session's id and its cookies.
final class PollingRequests {
    /// The outcome of a request.
    typealias Result = Swift.Result<HTTPAnswer, ByteStreamError>

    private let key: EngineKey
    private let loop: any NetworkLoop
    /// The part of the URLs that no other session has, because of caches that disregard `Cache-Control`.
    private let salt: String
    private var count = 0
    /// The number of the last GET.
    private var lastPoll = 0
    private var exchanges: [Int: any ByteStream] = [:]
    private let kept = KeptConnections()
    private var cookies = CookieJar()
    /// The session; nil before the handshake.
    var sid: String?
    /// The time for one request and its answer.
    var deadline: Duration
    /// The time of the latest arrival, parts of answers included.
    private(set) var lastHeard: Moment?

    init(_ key: EngineKey, salt: UInt64, loop: any NetworkLoop) {
        self.key = key
        self.salt = String(salt, radix: 36)
        self.loop = loop
        self.deadline = key.request.deadline
    }

    /// The GET under way; nil when there is none.
    var poll: (any ByteStream)? { self.exchanges[self.lastPoll] }

    /// The cookies for the next request, also for one that takes the session elsewhere.
    var cookie: String? {
        self.cookies.header(path: self.key.configuration.path, isSecure: self.key.request.url.isSecure)
    }

    /// A part of an answer has come.
    func heard() { self.lastHeard = self.loop.moment }

    func get(limit: Int, onBody: (([UInt8]) -> Void)? = nil, completion: @escaping (Result) -> Void) {
        self.lastPoll = self.count + 1
        self.begin(.get, limit: limit, onBody: onBody, completion: completion)
    }

    func post(_ body: [UInt8], limit: Int, completion: @escaping (Result) -> Void) {
        let type = (name: "Content-Type", value: "text/plain; charset=UTF-8")
        self.begin(.post(body), headers: [type], limit: limit, completion: completion)
    }

    /// Gives all requests up.
    func cancel() {
        let exchanges = self.exchanges
        self.exchanges = [:]
        for exchange in exchanges.values { exchange.abort() }
        self.kept.close()
    }

    private func begin(
        _ purpose: StreamRequest.Purpose, headers: [StreamRequest.Header] = [], limit: Int,
        onBody: (([UInt8]) -> Void)? = nil, completion: @escaping (Result) -> Void
    ) {
        self.count += 1
        let number = self.count
        var request = self.key.upgrade(
            transport: "polling", sid: self.sid, query: [(name: "t", value: "\(self.salt).\(number)")],
            cookie: self.cookie, headers: headers)
        request.deadline = self.deadline
        request.purpose = purpose
        self.exchanges[number] = self.loop.exchange(request, over: self.kept, limit: limit, onBody: onBody) { result in
            self.exchanges[number] = nil
            if case .success(let answer) = result {
                self.heard()
                for cookie in answer.head.values("set-cookie") {
                    self.cookies.set(cookie, path: self.key.configuration.path)
                }
            }
            completion(result)
        }
    }
}
