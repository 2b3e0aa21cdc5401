internal import Linkspan
internal import Testing

@testable internal import LinkspanNetwork

@Suite("The agreement with a proxy")
struct ProxyHandshakeTests {
    private static func wrong(_ why: Comment) { Issue.record(why) }

    private static let request = StreamRequest(host: "host.test", port: 0x0102, isSecure: false)

    private static func take(_ bytes: [UInt8], _ handshake: inout ProxyHandshake) -> ProxyStep {
        bytes.withUnsafeBytes { handshake.received($0) }
    }

    private static func socks(_ user: String? = nil, host: String = "host.test") -> ProxyHandshake {
        let proxy = NetworkProxy(.socks5, host: "p", port: 1, user: user, password: user.map { _ in "pw" })
        return ProxyHandshake(proxy, for: StreamRequest(host: host, port: 0x0102, isSecure: false))
    }

    @Test
    func `over SOCKS offers, authenticates and asks as RFC 1928 and 1929 have it, byte by byte`() {
        var handshake = Self.socks("ann")
        #expect(handshake.greeting == [5, 2, 0, 2])
        guard case .more = Self.take([5], &handshake), case .send(let credentials) = Self.take([2], &handshake)
        else { return Self.wrong("no credentials") }
        #expect(credentials == [1, 3] + "ann".utf8 + [2] + "pw".utf8)
        guard case .more = Self.take([1], &handshake), case .send(let request) = Self.take([0], &handshake)
        else { return Self.wrong("no request") }
        #expect(request == [5, 1, 0, 3, 9] + "host.test".utf8 + [1, 2])
        for byte in [5, 0, 0, 1, 9, 9, 9, 9, 0] as [UInt8] {
            guard case .more = Self.take([byte], &handshake) else { return Self.wrong("too early") }
        }
        guard case .done = Self.take([0], &handshake) else { return Self.wrong("not done") }
    }

    @Test(
        arguments: [
            ("1.2.3.4", [1, 1, 2, 3, 4]), ("[::1]", [4] + [UInt8](repeating: 0, count: 15) + [1]),
        ] as [(String, [UInt8])])
    func `over SOCKS names a server by its address when that is given`(host: String, address: [UInt8]) {
        var handshake = Self.socks(host: host)
        #expect(handshake.greeting == [5, 1, 0])
        guard case .send(let request) = Self.take([5, 0], &handshake) else { return Self.wrong("no request") }
        #expect(request == [5, 1, 0] + address + [1, 2])
    }

    @Test(arguments: [[5, 2], [5, 255], [5, 1]] as [[UInt8]])
    func `over SOCKS ends at a method that was not offered`(answer: [UInt8]) {
        var handshake = Self.socks()
        guard case .failed(let error) = Self.take(answer, &handshake) else { return Self.wrong("not failed") }
        #expect(error.code == .proxyUnauthorized)
    }

    @Test(
        arguments: [
            [5, 0, 0, 1, 0, 0, 0, 0, 0, 0, 99], [5, 0, 0, 7, 0], [4, 0], [5, 0, 0, 3, 1, 0, 0, 0, 99],
        ] as [[UInt8]])
    func `over SOCKS ends at a malformed reply, and at one with more behind it`(reply: [UInt8]) {
        var handshake = Self.socks()
        _ = Self.take([5, 0], &handshake)
        guard case .failed(let error) = Self.take(reply, &handshake) else { return Self.wrong("not failed") }
        #expect(error.code == .proxyRefused)
    }

    @Test(
        arguments: [
            (1, "general failure"), (2, "not allowed by its rules"), (3, "network unreachable"),
            (4, "host unreachable"), (5, "connection refused"), (6, "time to live expired"),
            (7, "command not supported"), (8, "address type not supported"), (9, "reply 9"),
        ] as [(UInt8, String)])
    func `over SOCKS says why the proxy did not connect, without the address that some leave out`(
        reply: UInt8, reason: String
    ) {
        var handshake = Self.socks()
        _ = Self.take([5, 0], &handshake)
        guard case .failed(let error) = Self.take([5, reply], &handshake) else { return Self.wrong("not failed") }
        #expect(error.code == .proxyRefused)
        #expect(error.message == "the proxy did not connect to the server: \(reason)")
    }

    @Test(arguments: [[4] + [UInt8](repeating: 9, count: 16), [3, 2, 97, 98], [3, 0], [1, 9, 9, 9, 9]] as [[UInt8]])
    func `over SOCKS is done behind an address of any kind, however it is cut`(address: [UInt8]) {
        let reply = [5, 0, 0] + address + [1, 2]
        for size in [1, 2, reply.count] {
            var handshake = Self.socks()
            _ = Self.take([5, 0], &handshake)
            for index in stride(from: 0, to: reply.count, by: size) {
                let end = min(index + size, reply.count)
                switch Self.take(Array(reply[index..<end]), &handshake) {
                case .more: #expect(end < reply.count)
                case .done: #expect(end == reply.count)
                case .send, .failed: Self.wrong("not done")
                }
            }
        }
    }

    @Test
    func `over SOCKS ends when the proxy does not accept name and password, or speaks too early`() {
        for (answers, code) in [
            ([[5, 2], [1, 1]], .proxyUnauthorized), ([[5, 2, 1]], .proxyRefused),
            ([[5, 2], [1, 0, 5]], .proxyRefused),
            ([[5, 0, 5]], .proxyRefused), ([[4, 0]], .proxyRefused), ([[5, 255]], .proxyUnauthorized),
        ] as [([[UInt8]], ByteStreamError.Code)] {
            var handshake = Self.socks("ann")
            var last = ProxyStep.more
            for answer in answers { last = Self.take(answer, &handshake) }
            guard case .failed(let error) = last else { return Self.wrong("not failed") }
            #expect(error.code == code)
        }
    }

    @Test(arguments: [(199, ByteStreamError.Code.proxyRefused), (300, .proxyRefused), (407, .proxyUnauthorized)])
    func `over HTTP opens the way with any status of success alone`(status: Int, code: ByteStreamError.Code) {
        for good in [200, 204, 299] { #expect(ByteStreamError(proxyStatus: good, retryAfter: nil) == nil) }
        let error = ByteStreamError(proxyStatus: status, retryAfter: .seconds(3))
        #expect(error?.code == code && error?.status == status)
        #expect(error?.retryAfter == (status == 407 ? nil : .seconds(3)))
    }

    @Test
    func `names the proxy in an error about the way to it`() {
        let (name, place) = (ByteStreamError(.nameNotResolved, "x"), ByteStreamError(unreachable: "Connection refused"))
        #expect(place.message == "the server cannot be reached (connection refused)")
        #expect(name.ofProxy == ByteStreamError(.proxyUnreachable, "the proxy's name has no address"))
        #expect(
            place.ofProxy == ByteStreamError(.proxyUnreachable, "the proxy cannot be reached (connection refused)"))
        #expect(ByteStreamError(.timedOut, "x").ofProxy == ByteStreamError(.timedOut, "x"))
    }

    @Test
    func `over HTTP does not call an answer malformed whose head is larger than is accepted`() {
        var handshake = ProxyHandshake(NetworkProxy(host: "p", port: 1), for: Self.request)
        let answer = "HTTP/1.1 200 OK\r\nX-Filler: \(String(repeating: "x", count: 20_000))\r\n\r\n"
        guard case .failed(let error) = Self.take(Array(answer.utf8), &handshake)
        else { return Self.wrong("not failed") }
        #expect(error.code == .proxyRefused)
        #expect(error.message.hasSuffix("larger than the 16384 bytes that are accepted here"))
    }

    @Test
    func `over HTTP ends at an answer with something behind it`() {
        var handshake = ProxyHandshake(NetworkProxy(host: "p", port: 1), for: Self.request)
        #expect(
            handshake.greeting == Array("CONNECT host.test:258 HTTP/1.1\r\nHost: host.test:258\r\n\r\n".utf8))
        guard case .failed(let error) = Self.take(Array("HTTP/1.1 200 OK\r\n\r\nx".utf8), &handshake)
        else { return Self.wrong("not failed") }
        #expect(error.code == .proxyRefused)
    }
}
