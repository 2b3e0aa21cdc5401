private import CLinkspanRuntime
internal import Linkspan

/// The next step of an agreement with a proxy.
package enum ProxyStep {
    /// These bytes are to be sent; then the answer is awaited.
    case send([UInt8])
    /// More bytes are needed.
    case more
    /// The tunnel to the server is open, and none of its bytes were read.
    case done
    case failed(ByteStreamError)
}

/// The client's part of SOCKS version 5 (RFC 1928), with user name and password (RFC 1929).
///
/// The server's name goes to the proxy, which looks it up.
struct SOCKSHandshake {
    private enum State {
        case method
        case authentication
        case reply
    }

    private static let version: UInt8 = 5
    private static let open: UInt8 = 0
    private static let password: UInt8 = 2

    private var state = State.method
    private var input: [UInt8] = []
    private let credentials: [UInt8]?
    private let request: [UInt8]

    init(_ proxy: NetworkProxy, host: String, port: Int) {
        self.credentials = proxy.user.map { user in
            let password = Array((proxy.password?.exposed ?? "").utf8)
            return [1, UInt8(user.utf8.count)] + user.utf8 + [UInt8(password.count)] + password
        }
        let port = UInt16(port)
        self.request =
            [Self.version, 1, 0] + Self.address(host) + [UInt8(truncatingIfNeeded: port >> 8), UInt8(port & 0xFF)]
    }

    /// The ways to authenticate that this side offers.
    var greeting: [UInt8] {
        self.credentials == nil ? [Self.version, 1, Self.open] : [Self.version, 2, Self.open, Self.password]
    }

    mutating func received(_ bytes: UnsafeRawBufferPointer) -> ProxyStep {
        self.input.append(contentsOf: bytes)
        switch self.state {
        case .method:
            guard let answer = self.take(2) else { return .more }
            guard answer[0] == Self.version else { return Self.malformed }
            return self.choose(answer[1])
        case .authentication:
            guard let answer = self.take(2) else { return .more }
            guard answer[1] == 0 else {
                return .failed(
                    ByteStreamError(.proxyUnauthorized, "the proxy does not accept name and password"))
            }
            return self.ask()
        case .reply: return self.readReply()
        }
    }

    private mutating func choose(_ method: UInt8) -> ProxyStep {
        // Nothing may follow before the next message of this side.
        guard self.input.isEmpty else { return Self.malformed }
        if method == Self.open { return self.ask() }
        if method == Self.password, let credentials = self.credentials {
            self.state = .authentication
            return .send(credentials)
        }
        let wish = self.credentials == nil ? "wants a name and a password" : "takes neither name and password nor none"
        return .failed(ByteStreamError(.proxyUnauthorized, "the proxy \(wish)"))
    }

    private mutating func ask() -> ProxyStep {
        guard self.input.isEmpty else { return Self.malformed }
        self.state = .reply
        return .send(self.request)
    }

    private mutating func readReply() -> ProxyStep {
        guard self.input.count >= 2 else { return .more }
        guard self.input[0] == Self.version else { return Self.malformed }
        // Some send no address behind a failure.
        guard self.input[1] == 0 else { return .failed(Self.error(self.input[1])) }
        guard self.input.count >= 5 else { return .more }
        let addressLength: Int
        switch self.input[3] {
        case 1: addressLength = 4
        case 3: addressLength = 1 + Int(self.input[4])
        case 4: addressLength = 16
        default: return Self.malformed
        }
        let length = 4 + addressLength + 2
        guard self.input.count >= length else { return .more }
        // Nobody but the proxy can have spoken so far.
        return self.input.count == length ? .done : Self.malformed
    }

    private mutating func take(_ count: Int) -> [UInt8]? {
        guard self.input.count >= count else { return nil }
        defer { self.input.removeFirst(count) }
        return Array(self.input.prefix(count))
    }

    private static let malformed = ProxyStep.failed(
        ByteStreamError(.proxyRefused, "the proxy's answer breaks the rules of SOCKS version 5"))

    private static func error(_ reply: UInt8) -> ByteStreamError {
        let reasons: [UInt8: String] = [
            1: "general failure", 2: "not allowed by its rules", 3: "network unreachable", 4: "host unreachable",
            5: "connection refused", 6: "time to live expired", 7: "command not supported",
            8: "address type not supported",
        ]
        return ByteStreamError(
            .proxyRefused, "the proxy did not connect to the server: \(reasons[reply] ?? "reply \(reply)")")
    }

    /// Type and bytes of an address (RFC 1928 section 5).
    private static func address(_ host: String) -> [UInt8] {
        var v4 = in_addr()
        if inet_pton(AF_INET, host, &v4) == 1 { return [1] + withUnsafeBytes(of: v4) { [UInt8]($0) } }
        var v6 = in6_addr()
        if inet_pton(AF_INET6, host, &v6) == 1 { return [4] + withUnsafeBytes(of: v6) { [UInt8]($0) } }
        return [3, UInt8(truncatingIfNeeded: host.utf8.count)] + host.utf8
    }
}
