internal import Linkspan
internal import Testing

@testable internal import LinkspanNetwork
@testable import LinkspanSocketIO

@Suite("The end of a WebSocket carrier")
struct WebSocketCarrierTests {
    /// The error of a client of this version when these bytes come behind the 101.
    private static func error(behind101 answer: String, _ version: EngineIOVersion) throws -> LinkspanError {
        WebSocketCarrier.error(try #require(WebSocketEnd(lateRefusal: Array(answer.utf8))), version: version)
    }

    private static let head = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-type: text/html\r\n\r\n"

    @Test(arguments: [EngineIOVersion.v3, .v4])
    func `a 400 that names the version is about the version`(_ version: EngineIOVersion) throws {
        for body in ["Unsupported protocol version", #"{"code":5,"message":"Unsupported protocol version"}"#] {
            let error = try Self.error(behind101: Self.head + body, version)
            #expect(error.code == .unsupportedVersion)
            #expect(error.message.contains("choose protocol v2"))
        }
    }

    @Test(arguments: [EngineIOVersion.v3, .v4])
    func `a 400 for another reason may pass, and is quoted`(_ version: EngineIOVersion) throws {
        let error = try Self.error(behind101: Self.head + "Bad request", version)
        #expect(error.code == .serverUnavailable)
        #expect(error.message.hasSuffix(": Bad request"))
    }

    @Test(arguments: [
        Self.head, "HTTP/1.1 400", "HTTP/1.1 400 Bad Request\r\nContent-Length: 28\r\n", Self.head + "U",
        Self.head + "Unsupported protocol",
    ])
    func `a 400 whose text has not come as a whole is about the version for version 3 alone`(_ answer: String) throws {
        #expect(try Self.error(behind101: answer, .v3).code == .unsupportedVersion)
        #expect(try Self.error(behind101: answer, .v4).code == .serverUnavailable)
    }

    @Test(arguments: [EngineIOVersion.v3, .v4])
    func `another status behind the 101 means what it always does`(_ version: EngineIOVersion) throws {
        let answer = "HTTP/1.1 403 Forbidden\r\n\r\nUnsupported protocol version"
        #expect(try Self.error(behind101: answer, version).code == .refused)
    }
}
