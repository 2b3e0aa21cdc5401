/// The handshake with a proxy that connects us to the server, over a TCP connection to the proxy.
///
/// The caller sends ``greeting``, hands over received bytes, and carries out each step.
package struct ProxyHandshake {
    private enum State {
        case http(AnswerReader)
        case socks(SOCKSHandshake)
    }

    /// The first bytes to send.
    package let greeting: [UInt8]
    private var state: State

    /// Makes the handshake for a way to the request's host and port.
    package init(_ proxy: NetworkProxy, for request: StreamRequest) {
        switch proxy.kind {
        case .http:
            self.greeting = Self.connectHead(proxy, request)
            self.state = .http(AnswerReader(isExchange: false))
        case .socks5:
            let handshake = SOCKSHandshake(proxy, host: request.bareHost, port: request.port)
            self.greeting = handshake.greeting
            self.state = .socks(handshake)
        }
    }

    /// The error of a proxy that ended the connection instead of answering.
    package static let hungUp = ByteStreamError(.proxyRefused, "the proxy closed the connection")

    package mutating func received(_ bytes: UnsafeRawBufferPointer) -> ProxyStep {
        switch self.state {
        case .socks(var handshake):
            defer { self.state = .socks(handshake) }
            return handshake.received(bytes)
        case .http(var reader):
            defer { self.state = .http(reader) }
            reader.append(bytes)
            return Self.step(&reader)
        }
    }

    private static func step(_ reader: inout AnswerReader) -> ProxyStep {
        switch reader.next() {
        case .more: return .more
        case .head(let head):
            if let error = ByteStreamError(proxyStatus: head.status, retryAfter: head.retryAfter) {
                return .failed(error)
            }
            // Nobody but the proxy can have spoken so far.
            guard case .more = reader.next() else { return .failed(Self.malformed) }
            return .done
        case .failed(let error) where error.code == .answerHeadTooLong:
            return .failed(ByteStreamError(.proxyRefused, "the proxy's answer is not accepted: \(error.message)"))
        case .bytes, .end, .failed: return .failed(Self.malformed)
        }
    }

    private static let malformed = ByteStreamError(.proxyRefused, "the proxy's answer breaks the rules of HTTP")

    private static func connectHead(_ proxy: NetworkProxy, _ request: StreamRequest) -> [UInt8] {
        let name = NumericAddress.isIPv6(request.bareHost) ? "[\(request.bareHost)]" : request.bareHost
        let place = "\(name):\(request.port)"
        var head = "CONNECT \(place) HTTP/1.1\r\nHost: \(place)\r\n"
        if let header = proxy.header { head += "\(header.name): \(header.value)\r\n" }
        return Array("\(head)\r\n".utf8)
    }
}
