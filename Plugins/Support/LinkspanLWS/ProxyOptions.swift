/// An HTTP proxy to go through, by `CONNECT`.
public struct ProxyOptions: Sendable, Hashable {
    /// The proxy's name, or a numeric address without brackets.
    public var host: String
    /// The proxy's TCP port.
    public var port: Int
    /// The name to show to the proxy, nil for none.
    public var user: HiddenText?
    /// The password that goes with the name.
    public var password: HiddenText?

    /// Makes options.
    public init(host: String, port: Int, user: HiddenText? = nil, password: HiddenText? = nil) {
        self.host = host
        self.port = port
        self.user = user
        self.password = password
    }
}

extension ProxyOptions {
    /// What the library has room for.
    private static let credentialLimit = 95

    /// Checks what the library would cut or take for something else.
    func validated() throws(ByteStreamError) {
        let isPlain = self.host.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "@") }
        guard isPlain, !self.host.isEmpty, self.host.utf8.count <= 100, (1...65_535).contains(self.port) else {
            throw ByteStreamError(.invalidRequest, "the proxy's host or port is not valid")
        }
        guard let credentials = self.credentials else { return }
        guard credentials.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            throw ByteStreamError(
                .invalidRequest, "the proxy's name or password has a space or a character outside ASCII")
        }
        guard self.user?.text.contains(":") == false else {
            throw ByteStreamError(.invalidRequest, "the name for the proxy has a colon")
        }
        guard credentials.utf8.count <= Self.credentialLimit else {
            let limit = Self.credentialLimit
            throw ByteStreamError(.requestTooLong, "name and password for the proxy have more than \(limit) bytes")
        }
    }

    /// Name and password as basic authentication has them.
    private var credentials: String? { self.user.map { "\($0.text):\(self.password?.text ?? "")" } }

    /// The proxy as the library wants it, at one of its addresses.
    func text(at address: String) -> String {
        let place = NumericAddress.isIPv6(address) ? "[\(address)]" : address
        return "\(self.credentials.map { "\($0)@" } ?? "")\(place):\(self.port)"
    }

    /// The header that shows name and password to the proxy.
    var header: UpgradeRequest.Header? {
        self.credentials.map { ("Proxy-Authorization", "Basic \(Base64.encode(Array($0.utf8)))") }
    }
}

/// RFC 4648 section 4, without Foundation.
private enum Base64 {
    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    static func encode(_ bytes: [UInt8]) -> String {
        var output: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = Array(bytes[start..<min(start + 3, bytes.count)])
            let bits = (0..<3).reduce(0) { $0 << 8 | Int($1 < group.count ? group[$1] : 0) }
            for place in 0..<4 {
                let isPadding = place > group.count
                output.append(isPadding ? UInt8(ascii: "=") : Self.alphabet[bits >> (18 - 6 * place) & 0x3F])
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}
