internal import LinkspanWebSocketProtocol

extension StreamRequest {
    /// The size that every back end carries without cutting anything, in bytes: the narrowest is libwebsockets.
    enum Limit {
        static let requestLine = 2_000
        static let host = 100
        static let request = 3_584
    }

    /// Checks lengths and characters, because back ends may cut what is too long and send line breaks as they are.
    ///
    /// Throws `invalidRequest` for a character or value that must not be sent, `requestTooLong` for a part over its
    /// limit: 2,000 bytes for the request line, 100 for host and port, 3.5 KiB for the whole request.
    package func validated() throws(ByteStreamError) {
        try self.checkHost()
        try self.checkTarget()
        try self.proxy?.validated()
        try self.checkSocketPath()
        try self.checkHeaders()
        try Self.check(self.requestLength, "request", limit: Limit.request)
    }

    private func checkHost() throws(ByteStreamError) {
        guard !self.serverName.isEmpty else { throw ByteStreamError(.invalidRequest, "the host is empty") }
        guard (1...65_535).contains(self.port) else {
            throw ByteStreamError(.invalidRequest, "the port \(self.port) is not between 1 and 65535")
        }
        try Self.check(self.bareHost, "host", allowsSpace: false)
        try Self.check(self.hostHeader.utf8.count, "host", limit: Limit.host)
        let isPlain = NumericAddress.isIPv6(self.bareHost) || self.bareHost.utf8.allSatisfy(Authority.isNameByte)
        guard isPlain else { throw ByteStreamError(.invalidRequest, "the host has an invalid character") }
    }

    private func checkSocketPath() throws(ByteStreamError) {
        guard let path = self.socketPath else { return }
        guard let problem = Self.problem(withSocketPath: path, proxy: self.proxy) else { return }
        throw ByteStreamError(.invalidRequest, problem)
    }

    /// The reason for which a Unix-domain socket cannot be connected to, nil for none.
    ///
    /// The system's limit is 104 bytes, the NUL at the end included.
    static func problem(withSocketPath path: String, proxy: NetworkProxy?) -> String? {
        guard (1..<104).contains(path.utf8.count), !path.utf8.contains(0) else {
            return "the path of the socket is empty or longer than 103 bytes"
        }
        return proxy == nil ? nil : "a Unix-domain socket is not reached through a proxy"
    }

    private func checkTarget() throws(ByteStreamError) {
        guard self.target.utf8.first == UInt8(ascii: "/") else {
            throw ByteStreamError(.invalidRequest, "the request target does not start with a slash")
        }
        try Self.check(self.target, "request target", allowsSpace: false)
        guard !self.target.utf8.contains(UInt8(ascii: "#")) else {
            throw ByteStreamError(.invalidRequest, "the request target has a fragment")
        }
        try Self.check(
            "\(self.method)  HTTP/1.1".utf8.count + self.target.utf8.count, "request line",
            limit: Limit.requestLine)
    }

    private func checkHeaders() throws(ByteStreamError) {
        for header in self.headers {
            guard HTTPToken.isValid(header.name.utf8) else {
                throw ByteStreamError(.invalidRequest, "a header's name has an invalid character")
            }
            guard !Self.reservedNames.contains(header.name.lowercased()) else {
                throw ByteStreamError(.invalidRequest, "the header \(header.name) cannot be set")
            }
            try Self.check(header.value, "value of the header \(header.name)", allowsSpace: true)
        }
    }

    /// The header fields that frame a request and so cannot be set, in lower case.
    package static let reservedNames: Set<String> = ["host", "content-length", "transfer-encoding"]

    private static func check(_ text: String, _ what: String, allowsSpace: Bool) throws(ByteStreamError) {
        let lowest: UInt8 = allowsSpace ? 0x20 : 0x21
        guard text.utf8.allSatisfy({ $0 >= lowest && $0 < 0x7F }) else {
            throw ByteStreamError(.invalidRequest, "the \(what) has a character that is not allowed")
        }
    }

    private static func check(_ length: Int, _ what: String, limit: Int) throws(ByteStreamError) {
        guard length <= limit else {
            let advice = "give a token as auth payload or header"
            throw ByteStreamError(.requestTooLong, "the \(what) has \(length) bytes of at most \(limit); \(advice)")
        }
    }
}

extension StreamRequest {
    /// The method of the request line.
    package var method: String { if case .post = self.purpose { "POST" } else { "GET" } }

    /// Whether the answer is a body, whatever its status, and not a stream.
    package var isExchange: Bool { self.purpose != .upgrade }

    /// The host without the brackets of an IPv6 address.
    package var bareHost: String {
        guard self.host.hasPrefix("["), self.host.hasSuffix("]") else { return self.host }
        return String(self.host.dropFirst().dropLast())
    }

    /// The host as certificates and TLS have it: without the dot at the end of an absolute name (RFC 6066 section 3).
    package var serverName: String {
        let host = self.bareHost
        return host.hasSuffix(".") ? String(host.dropLast()) : host
    }

    /// The value of `Host` (RFC 9110 section 7.2): an IPv6 address in brackets, the port unless it is the scheme's.
    package var hostHeader: String {
        let name = NumericAddress.isIPv6(self.bareHost) ? "[\(self.bareHost)]" : self.bareHost
        let isUsual = self.port == (self.isSecure ? 443 : 80)
        return isUsual ? name : "\(name):\(self.port)"
    }

    /// The header lines that the library does not write itself.
    package var headerLines: [UInt8] {
        var lines: [UInt8] = []
        func append(_ name: String, _ value: String) {
            lines += name.utf8
            lines += ": ".utf8
            lines += value.utf8
            lines += "\r\n".utf8
        }
        for header in self.headers { append(header.name, header.value) }
        if case .post(let body) = self.purpose { append("Content-Length", "\(body.count)") }
        return lines
    }

    /// Whether the request tells the server to close the connection after its answer.
    package var closesConnection: Bool { self.isExchange && !self.keepsConnection }

    /// The request as it is sent, up to its empty line.
    package var head: [UInt8] {
        let close = self.closesConnection ? "Connection: close\r\n" : ""
        return Array("\(self.method) \(self.target) HTTP/1.1\r\nHost: \(self.hostHeader)\r\n".utf8) + self.headerLines
            + "\(close)\r\n".utf8
    }

    /// The length of the whole request: the request line, what the library adds, `Host` and the header lines.
    private var requestLength: Int {
        let added =
            "POST  HTTP/1.1\r\nPragma: no-cache\r\nCache-Control: no-cache\r\nHost: \r\nconnection: close\r\n\r\n"
            .utf8.count
        return added + self.target.utf8.count + self.hostHeader.utf8.count + self.headerLines.count
    }
}
