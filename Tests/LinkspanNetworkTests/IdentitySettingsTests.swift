internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Identity of network settings")
struct IdentitySettingsTests {
    private struct Settings: NetworkConfiguration {
        var network = NetworkBackEnd.standard
        var tls = TLSPolicy.system
        var proxy: NetworkProxy?
        var socketPath: String?
        var compression: WebSocketCompression?
        var renewalEvent: String?
        var maximumMessageBytes = 1
        var highWaterMark = 1
    }

    private static func identity(_ proxy: NetworkProxy?) -> [String: Secret] {
        var settings = Settings()
        settings.proxy = proxy
        return settings.identity()
    }

    private static let proxy = NetworkProxy(host: "proxy.example", port: 3128, user: "ann", password: "one")

    @Test
    func `proxy credentials are part of it, each part for itself`() {
        let proxy = Self.proxy
        #expect(Self.identity(proxy) == Self.identity(proxy))
        var changes = [proxy, proxy, proxy, proxy]
        changes[0].password = "two"
        changes[1].user = "bob"
        changes[2].port = 3129
        // The same characters, cut elsewhere.
        (changes[3].user, changes[3].password) = ("annone", "")
        for other in changes { #expect(Self.identity(other) != Self.identity(proxy), "\(other)") }
    }

    @Test
    func `settings without credentials are not part of it`() {
        #expect(Self.identity(nil).isEmpty)
        #expect(Self.identity(NetworkProxy(host: "proxy.example", port: 3128)).isEmpty)
    }

    @Test
    func `header fields are part of it, with their names and their order`() {
        let settings = Settings()
        let fields = [Credentials.Field("A", "1"), Credentials.Field("B", "2")]
        #expect(settings.identity(headers: fields) == settings.identity(headers: fields))
        #expect(settings.identity(headers: fields) != settings.identity(headers: fields.reversed()))
        #expect(settings.identity(headers: fields) != settings.identity(headers: [fields[0]]))
    }
}
