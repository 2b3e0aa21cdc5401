internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol

/// The cookies of one connection's polls (RFC 6265), so that a balancer sends them all to one server.
///
/// They go to the host that set them and nowhere else, and are forgotten with the connection. Attributes are honoured
/// as far as they matter there: `Path`, `Secure`, `Max-Age` and `Expires`.
struct CookieJar: Sendable, Hashable {
    /// The most cookies that are kept.
    static let maximumCookies = 20
    /// The most bytes of one.
    static let maximumBytes = 4096
    /// The most bytes of all their names and values, so that room is left in a request.
    static let maximumTotal = 2048

    private struct Cookie: Sendable, Hashable {
        var name: Substring
        var value: Substring
        var path: String
        var isSecure: Bool
        /// The first second in which it is not sent any more.
        var expiry = Int.max

        var length: Int { self.name.utf8.count + self.value.utf8.count }
    }

    private var cookies: [Cookie] = []

    /// Takes the value of a `Set-Cookie` header; one that breaks the grammar or a limit is ignored.
    ///
    /// - Parameters:
    ///   - header: the header's value.
    ///   - path: the path of the request, without its query.
    ///   - now: the time, in seconds since 1970.
    mutating func set(_ header: String, path: String, now: Int = CookieDate.now) {
        guard header.utf8.count <= Self.maximumBytes else { return }
        var parts = header.split(separator: ";", omittingEmptySubsequences: false).map(\.trimmed)[...]
        guard let pair = parts.popFirst(), let equals = pair.firstIndex(of: "=") else { return }
        var cookie = Cookie(
            name: pair[..<equals].trimmed, value: pair[pair.index(after: equals)...].trimmed,
            path: Self.defaultPath(path), isSecure: false)
        guard !cookie.name.isEmpty, cookie.name.utf8.allSatisfy(Self.isPlain),
            cookie.value.utf8.allSatisfy(Self.isPlain)
        else { return }
        // Of several of a kind the last counts (RFC 6265 section 5.3).
        var (maximumAge, expires): (Int?, Int?) = (nil, nil)
        for part in parts {
            let halves = part.split(separator: "=", maxSplits: 1).map(\.trimmed)
            let value = halves.dropFirst().first
            switch halves.first?.lowercased() {
            case "secure": cookie.isSecure = true
            case "path": if let given = value, given.hasPrefix("/") { cookie.path = String(given) }
            case "max-age": maximumAge = value.flatMap(Self.age) ?? maximumAge
            case "expires": expires = value.flatMap(CookieDate.seconds) ?? expires
            default: ()
            }
        }
        cookie.expiry = maximumAge.map { $0 > 0 ? now + min($0, .max - now) : .min } ?? expires ?? .max
        self.cookies.removeAll { $0.name == cookie.name && $0.path == cookie.path || $0.expiry <= now }
        let total = self.cookies.reduce(cookie.length) { $0 + $1.length }
        guard cookie.expiry > now, self.cookies.count < Self.maximumCookies, total <= Self.maximumTotal else { return }
        self.cookies.append(cookie)
    }

    /// The value of `Cookie` for a request; nil when there is none to send.
    func header(path: String, isSecure: Bool, now: Int = CookieDate.now) -> String? {
        let sent = self.cookies.filter {
            (isSecure || !$0.isSecure) && Self.matches($0.path, path) && $0.expiry > now
        }
        guard !sent.isEmpty else { return nil }
        return sent.map { "\($0.name)=\($0.value)" }.joined(separator: "; ")
    }

    /// The number of seconds that a cookie is kept (RFC 6265 section 5.2.2); one that is too great to read counts by its sign.
    private static func age(_ text: Substring) -> Int? {
        let digits = text.hasPrefix("-") ? text.dropFirst() : text
        guard digits.isDigits else { return nil }
        return Int(text) ?? (text.hasPrefix("-") ? .min : .max)
    }

    /// Up to the last slash (RFC 6265 section 5.1.4).
    private static func defaultPath(_ path: String) -> String {
        guard path.hasPrefix("/"), let slash = path.lastIndex(of: "/"), slash != path.startIndex else { return "/" }
        return String(path[..<slash])
    }

    private static func matches(_ cookiePath: String, _ path: String) -> Bool {
        guard path.hasPrefix(cookiePath) else { return false }
        return cookiePath.hasSuffix("/") || path.utf8.count == cookiePath.utf8.count
            || path.dropFirst(cookiePath.count).first == "/"
    }

    /// The bytes that may stand in a header without changing its meaning; another one would let the server write our
    /// requests.
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ";")
    }
}
