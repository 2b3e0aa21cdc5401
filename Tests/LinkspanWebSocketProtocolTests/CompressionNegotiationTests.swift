@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Negotiation of compression")
struct CompressionNegotiationTests {
    @Test
    func `the offer says that the client's window may be named, and without options there is none`() throws {
        let offers = { (client: ClientHandshake) in
            client.headers.filter { $0.name == "Sec-WebSocket-Extensions" }.map(\.value)
        }
        let offering = try ClientHandshake(nonce: (1, 2), compression: .init())
        #expect(offers(offering) == ["permessage-deflate; client_max_window_bits"])
        #expect(offers(try ClientHandshake(nonce: (1, 2))) == [])
    }

    // MARK: The client judges answers

    struct Answer: Sendable, CustomTestStringConvertible {
        var header: [String]
        var code: WebSocketProtocolError.Code?
        var testDescription: String { "\(self.header)" }

        init(_ header: String..., fails code: WebSocketProtocolError.Code? = nil) {
            self.header = header
            self.code = code
        }
    }

    static let answers: [Answer] = [
        Answer("permessage-deflate"), Answer(" permessage-deflate ,"), Answer(""), Answer(),
        Answer("permessage-deflate;server_no_context_takeover;client_no_context_takeover"),
        Answer("permessage-deflate; client_max_window_bits=15 ; server_max_window_bits=15"),
        Answer("permessage-deflate; client_max_window_bits=\"9\""),
        Answer("permessage-deflate; client_max_window_bits=\"\\9\""),
        Answer("permessage-deflate; client_max_window_bits = 8; server_max_window_bits=8"),
        Answer("permessage-deflate; server_max_window_bits=9"),
        Answer("permessage-deflate; client_max_window_bits=9"),
        Answer("permessage-deflate; server_no_context_takeover"),
        Answer("permessage-deflate"),
        // Unoffered
        Answer("x-webkit-deflate-frame", fails: .extensionNotOffered),
        Answer("Permessage-Deflate", fails: .extensionNotOffered),
        Answer("permessage-deflate, x", fails: .extensionNotOffered),
        Answer("permessage-deflate", "x", fails: .extensionNotOffered),
        // Repeated
        Answer("permessage-deflate, permessage-deflate", fails: .extensionRepeated),
        Answer("permessage-deflate", "permessage-deflate; client_no_context_takeover", fails: .extensionRepeated),
        // Parameters that are unknown or repeated
        Answer("permessage-deflate; x", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; Client_No_Context_Takeover", fails: .extensionParameterInvalid),
        Answer(
            "permessage-deflate; server_no_context_takeover; server_no_context_takeover",
            fails: .extensionParameterInvalid),
        Answer(
            "permessage-deflate; server_max_window_bits=9; server_max_window_bits=9", fails: .extensionParameterInvalid),
        // Values
        Answer("permessage-deflate; server_no_context_takeover=1", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; client_no_context_takeover=true", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; client_max_window_bits", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; server_max_window_bits", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; server_max_window_bits=7", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; server_max_window_bits=16", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; server_max_window_bits=09", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; server_max_window_bits=+9", fails: .extensionParameterInvalid),
        Answer("permessage-deflate; client_max_window_bits=99999999999999999999", fails: .extensionParameterInvalid),
        // Form
        Answer("permessage-deflate;", fails: .extensionMalformed),
        Answer("permessage-deflate; ; x", fails: .extensionMalformed),
        Answer("permessage deflate", fails: .extensionMalformed), Answer("; x", fails: .extensionMalformed),
        Answer("permessage-deflate; x=", fails: .extensionMalformed),
        Answer("permessage-deflate; x=\"", fails: .extensionMalformed),
        Answer("permessage-deflate; x=\"\"", fails: .extensionMalformed),
        Answer("permessage-deflate; x=\"a b\"", fails: .extensionMalformed),
        Answer("permessage-deflate; x=\"9\\", fails: .extensionMalformed),
        Answer("permessage-deflate; x=\"9", fails: .extensionMalformed),
        Answer("pérmessage-deflate", fails: .extensionMalformed),
    ]

    @Test(arguments: answers)
    func `the client judges each answer`(answer: Answer) throws {
        let client = try ClientHandshake(nonce: (1, 2), compression: .init())
        let accept = HandshakeRules.accept(key: client.key)
        let fields = [
            "upgrade": ["websocket"], "connection": ["Upgrade"], "sec-websocket-accept": [accept],
            "sec-websocket-extensions": answer.header,
        ]
        var code: WebSocketProtocolError.Code?
        do throws(WebSocketProtocolError) {
            _ = try client.verify(status: 101) { fields[$0] ?? [] }
        } catch {
            code = error.code
        }
        #expect(code == answer.code)
    }

    @Test
    func `an answer decides the windows and what is shared between messages`() throws {
        let plain = try Self.agreement("permessage-deflate")
        #expect(plain == CompressionAgreement())
        let told = try Self.agreement(
            "permessage-deflate; client_no_context_takeover; server_no_context_takeover; "
                + "client_max_window_bits=9; server_max_window_bits=8")
        #expect(told.clientNoContextTakeover && told.serverNoContextTakeover)
        #expect(told.clientWindowBits == 9 && told.serverWindowBits == 8)
    }

    private static func agreement(_ answer: String) throws -> CompressionAgreement {
        try WebSocketCompression().agreement(answer: try #require(try WebSocketExtension.parse([answer]).first))
    }

    // MARK: The server

    @Test(arguments: ["permessage-deflate; client_max_window_bits", "x, permessage-deflate; y", ""])
    func `the server agrees to no extension`(offer: String) throws {
        let response = try Self.serve([offer])
        #expect(response.status == 101)
        #expect(response.headers.allSatisfy { $0.name != "Sec-WebSocket-Extensions" })
    }

    @Test(arguments: ["permessage-deflate;", "a b", "=;"])
    func `the server refuses a header that is no list of extensions`(header: String) {
        let error = #expect(throws: WebSocketProtocolError.self) { try Self.serve([header]) }
        #expect(error?.code == .extensionMalformed)
        #expect(error?.httpStatus == 400)
    }

    private static func serve(_ offer: [String]) throws -> ServerHandshake.Response {
        let fields = [
            "host": ["server.example.com"], "upgrade": ["websocket"], "connection": ["Upgrade"],
            "sec-websocket-key": ["dGhlIHNhbXBsZSBub25jZQ=="], "sec-websocket-version": ["13"],
            "sec-websocket-extensions": offer,
        ]
        return try ServerHandshake().accept(method: "GET") { fields[$0] ?? [] }
    }
}
