internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// Decides who may see the inspector: requests go in, decisions come out.
///
/// Three checks, each of which is enough to stop a page of another site: the `Host` field names this server and no other
/// name for its address (DNS rebinding), `Origin` and `Sec-Fetch-Site`, if there are any, are the server's own, and a
/// secret is shown that only a reader of the app's output knows. Its URL works once, within ten minutes, and makes a session,
/// whose key the page keeps in its tab; the cookie that comes with it opens the empty page alone, because a browser shows
/// cookies to the servers of all ports. Another URL is printed when somebody without a key asks for the page: until then
/// nothing on the screen opens it.
struct InspectorAccess: Sendable {
    /// The answer to a request.
    enum Decision: Sendable, Hashable {
        /// The page; with the session's key when one has just begun.
        case page(key: String?, cookie: String)
        case snapshot
        case report
        /// The live feed; with the session's key when one has just begun.
        case feed(key: String?, subprotocol: String?)
        case refused(status: Int, String)

        /// Whether the answer contains recorded data.
        var showsRecording: Bool {
            switch self {
            case .snapshot, .report, .feed: true
            case .page, .refused: false
            }
        }
    }

    /// The name of the WebSocket's protocol.
    static let subprotocol = "linkspan-inspector"
    /// The time for which a URL works.
    static let validity = Duration.seconds(600)
    /// The most sessions; the oldest makes room.
    static let maximumSessions = 16

    private let port: Int
    /// The token for programs, if there is one.
    private let standing: [String]
    private let makeKey: @Sendable () -> String
    /// The token of the URL that is valid, and the end of its time; nil once it has been used.
    private var invitation: (token: String, end: ContinuousClock.Instant)?
    /// Counts the invitations; a change means that another URL is to be printed.
    private(set) var invitations = 0
    private var sessions: [String] = []
    /// Each with its name, as the browser shows it.
    private var cookies: [String] = []

    /// Makes the rules.
    ///
    /// - Parameters:
    ///   - port: the port that the server has.
    ///   - standing: a token for programs, which stays valid; nil for none.
    ///   - makeKey: makes a secret that cannot be guessed.
    init(port: Int, standing: String?, makeKey: @escaping @Sendable () -> String = Self.randomKey) {
        self.port = port
        self.standing = standing.map { [$0] } ?? []
        self.makeKey = makeKey
    }

    /// The URL that opens the page once: the present one, or another one if that was used or is too old.
    mutating func invite(now: ContinuousClock.Instant) -> String {
        let present = self.invitation.flatMap { now < $0.end ? $0 : nil }
        let next = present ?? (self.makeKey(), now + Self.validity)
        if present == nil { (self.invitation, self.invitations) = (next, self.invitations + 1) }
        return "http://127.0.0.1:\(self.port)/?token=\(next.token)"
    }

    /// 192 random bits in hexadecimal digits.
    static func randomKey() -> String {
        (0..<3).map { _ in
            let digits = String(UInt64.random(in: 0...UInt64.max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }

    /// Decides about a request.
    mutating func decide(_ request: HTTPRequest, now: ContinuousClock.Instant) -> Decision {
        if let refusal = self.checkOrigin(of: request) { return refusal }
        guard request.method == "GET" else { return .refused(status: 405, "only GET is answered") }
        guard request.body.isEmpty else { return .refused(status: 400, "a request has no body here") }
        let decision =
            switch request.path {
            case "/": self.page(request, now)
            case "/snapshot": self.isAdmitted(request, now) ? .snapshot : Self.forbidden
            case "/report": self.isAdmitted(request, now) ? .report : Self.forbidden
            case "/feed": self.feed(request, now)
            // The same answer as for a page that exists: it reveals nothing.
            default: Self.forbidden
            }
        // Not for a page that an earlier run of the app has left open: it shows its key again and again.
        if decision == Self.forbidden, request.sessionKeys.isEmpty { _ = self.invite(now: now) }
        return decision
    }

    private static let forbidden = Decision.refused(
        status: 403, "open the URL that the inspector printed last; each works once, within ten minutes")

    private func checkOrigin(of request: HTTPRequest) -> Decision? {
        let hosts = request.values("host")
        guard hosts.count == 1, let host = Authority(hosts[0]), host.port == self.port,
            host.host == "127.0.0.1" || host.host == "localhost"
        else { return .refused(status: 403, "the inspector is not reached under this name") }
        let origins = request.values("origin")
        guard origins.isEmpty || origins.count == 1 && origins[0].lowercased() == "http://\(hosts[0].lowercased())"
        else { return .refused(status: 403, "pages of other origins are not answered") }
        guard request.values("sec-fetch-site").allSatisfy({ $0 == "same-origin" || $0 == "none" }) else {
            return .refused(status: 403, "requests from other sites are not answered")
        }
        return nil
    }

    private mutating func page(_ request: HTTPRequest, _ now: ContinuousClock.Instant) -> Decision {
        if let key = self.redeem(request, now) {
            // The name tells servers of several ports apart.
            let cookie = "linkspan-inspector-\(self.port)=\(self.makeKey())"
            Self.keep(cookie, in: &self.cookies)
            return .page(key: key, cookie: "\(cookie); Path=/; HttpOnly; SameSite=Strict")
        }
        let pairs: [Substring] = request.values("cookie").flatMap { $0.split(separator: ";").map(\.trimmed) }
        return Self.isOne(of: pairs, among: self.cookies) ? .page(key: nil, cookie: "") : Self.forbidden
    }

    private mutating func feed(_ request: HTTPRequest, _ now: ContinuousClock.Instant) -> Decision {
        guard request.isUpgrade else {
            return self.isAdmitted(request, now) ? .refused(status: 426, "the feed is a WebSocket") : Self.forbidden
        }
        let subprotocol = request.offeredSubprotocols.contains { $0 == Self.subprotocol } ? Self.subprotocol : nil
        if let key = self.redeem(request, now) { return .feed(key: key, subprotocol: subprotocol) }
        return self.isAdmitted(request, now) ? .feed(key: nil, subprotocol: subprotocol) : Self.forbidden
    }

    /// Whether a program shows the key of a session, the standing token, or the printed one, which is used up by that.
    private mutating func isAdmitted(_ request: HTTPRequest, _ now: ContinuousClock.Instant) -> Bool {
        Self.isOne(of: request.sessionKeys, among: self.sessions + self.standing)
            || self.redeem(request, now) != nil
    }

    /// Makes a session for a request that shows the printed token.
    private mutating func redeem(_ request: HTTPRequest, _ now: ContinuousClock.Instant) -> String? {
        let shown = request.query.filter { $0.name == "token" }
        guard shown.count == 1, let invitation, now < invitation.end,
            Self.areEqual(invitation.token, shown[0].value[...])
        else { return nil }
        self.invitation = nil
        let key = self.makeKey()
        Self.keep(key, in: &self.sessions)
        return key
    }

    private static func keep(_ secret: String, in list: inout [String]) {
        list = Array((list + [secret]).suffix(Self.maximumSessions))
    }

    /// Whether a request shows one of these secrets.
    private static func isOne(of shown: [Substring], among secrets: [String]) -> Bool {
        shown.contains { shown in secrets.contains { Self.areEqual($0, shown) } }
    }

    /// Compares in a time that tells nothing of where the texts differ.
    static func areEqual(_ secret: String, _ shown: Substring) -> Bool {
        let (one, two) = (Array(secret.utf8), Array(shown.utf8))
        guard one.count == two.count, !one.isEmpty else { return false }
        return zip(one, two).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
    }
}

extension HTTPRequest {
    fileprivate var offeredSubprotocols: [Substring] {
        self.values("sec-websocket-protocol").flatMap { $0.split(separator: ",").map(\.trimmed) }
    }

    /// The secrets of sessions or programs that it shows: in a browser among the subprotocols of a WebSocket.
    fileprivate var sessionKeys: [Substring] {
        let words = self.values("authorization").map { $0.split(separator: " ") }
        return words.filter { $0.count == 2 && $0[0].lowercased() == "bearer" }.map { $0[1] }
            + self.offeredSubprotocols.filter { $0.hasPrefix("session.") }.map { $0.dropFirst(8) }
    }
}
