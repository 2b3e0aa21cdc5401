internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

@Suite("Requests of carriers")
struct CarrierRequestTests {
    private static func request(_ fields: Credentials.Field...) throws -> CarrierRequest {
        let link = LinkRequest(url: try ConnectionURL("http://h/"), credentials: Credentials(headers: fields))
        return CarrierRequest(link: link, configuration: SocketIOConfiguration())
    }

    /// The fields of a poll, and of a WebSocket that takes the session over, which have to be the same.
    private static func fields(
        _ request: CarrierRequest, cookie: String?, sourceLocation: SourceLocation = #_sourceLocation
    ) -> [String] {
        func lines(_ request: StreamRequest) -> [String] { request.headers.map { "\($0.name): \($0.value)" } }
        let polled = lines(request.upgrade(transport: "polling", sid: "s", cookie: cookie))
        let upgraded = lines(request.webSocket(sid: "s", cookie: cookie, deadline: .seconds(1)).upgrade)
        #expect(polled == upgraded, sourceLocation: sourceLocation)
        return polled
    }

    @Test
    func `cookies of the app and of the server are one field, and of one name the server's counts`() throws {
        let request = try Self.request(.init("Cookie", "b=2; a=0"), .init("X-Other", "1"))
        #expect(Self.fields(request, cookie: "a=1") == ["Cookie: a=1; b=2", "X-Other: 1"])
    }

    @Test
    func `several fields of the app are joined, whatever their case and the space in them`() throws {
        let request = try Self.request(
            .init("cookie", " b = 2 ;;a =0;"), .init("X-Other", "1"), .init("COOKIE", "c=x=y; B=3; d"))
        let expected = ["Cookie: a=1; e=5; b = 2; c=x=y; B=3; d", "X-Other: 1"]
        #expect(Self.fields(request, cookie: "a=1; e=5") == expected)
    }

    @Test
    func `without cookies of the server the app's are sent as they are`() throws {
        let request = try Self.request(.init("cookie", "b=2;  a=0"), .init("Cookie", "c=3"))
        #expect(Self.fields(request, cookie: nil) == ["cookie: b=2;  a=0", "Cookie: c=3"])
    }

    @Test
    func `without cookies of the app the server's are sent as they are, in front`() throws {
        let request = try Self.request(.init("X-Other", "1"))
        #expect(Self.fields(request, cookie: "a=1; b=2") == ["Cookie: a=1; b=2", "X-Other: 1"])
    }

    @Test
    func `cookies of the server that do not fit leave the app's untouched`() throws {
        let (own, servers) = (String(repeating: "x", count: 2_000), String(repeating: "y", count: 2_000))
        let request = try Self.request(.init("Cookie", Secret("a=\(own)")))
        #expect(Self.fields(request, cookie: "b=\(servers)") == ["Cookie: a=\(own)"])
    }
}
