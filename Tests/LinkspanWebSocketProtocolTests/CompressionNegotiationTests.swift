@testable internal import LinkspanWebSocketProtocol
internal import Testing

@Suite("Negotiation of compression")
struct CompressionNegotiationTests {
    /// Options in the order of RFC 7692: client and server without context, client's and server's bits.
    struct Wishes: Sendable, CustomTestStringConvertible {
        var options: WebSocketCompression
        var testDescription: String { self.options.offer }

        init(
            clientForgets: Bool = false, serverForgets: Bool = false, clientBits: Int = 15, serverBits: Int = 15
        ) {
            self.options = .init {
                $0.clientNoContextTakeover = clientForgets
                $0.serverNoContextTakeover = serverForgets
                $0.clientMaxWindowBits = clientBits
                $0.serverMaxWindowBits = serverBits
            }
        }
    }

    private static let all = Wishes(clientForgets: true, serverForgets: true, clientBits: 10, serverBits: 8)

    @Test
    func `an offer names what is wished, and always that the client's window may be named`() {
        #expect(WebSocketCompression().offer == "permessage-deflate; client_max_window_bits")
        #expect(
            Self.all.options.offer
                == "permessage-deflate; client_no_context_takeover; server_no_context_takeover; "
                + "server_max_window_bits=8; client_max_window_bits=10")
        #expect(Wishes(serverBits: 12).options.offer.contains("; server_max_window_bits=12; "))
    }

    @Test
    func `nothing is offered, and nothing answered, without options`() throws {
        let client = try ClientHandshake(nonce: (1, 2))
        #expect(client.headers.allSatisfy { $0.name != "Sec-WebSocket-Extensions" })
        let offer = "permessage-deflate; client_max_window_bits"
        let refusing = try Self.serve(nil, [offer])
        #expect(refusing.compression == nil)
        #expect(refusing.headers.allSatisfy { $0.name != "Sec-WebSocket-Extensions" })
        let agreeing = try Self.serve(.init(), [offer])
        #expect(agreeing.headers.last?.name == "Sec-WebSocket-Extensions")
        #expect(agreeing.headers.last?.value == "permessage-deflate")
    }

    // MARK: The client judges answers

    struct Answer: Sendable, CustomTestStringConvertible {
        var wishes: Wishes
        var header: [String]
        var code: WebSocketProtocolError.Code?
        var testDescription: String { "\(self.header) to \(self.wishes.options.offer)" }

        init(_ header: String..., to wishes: Wishes = Wishes(), fails code: WebSocketProtocolError.Code? = nil) {
            self.header = header
            self.wishes = wishes
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
        Answer("permessage-deflate; server_max_window_bits=9", to: Wishes(serverBits: 10)),
        Answer("permessage-deflate; client_max_window_bits=9", to: Wishes(clientBits: 10)),
        Answer("permessage-deflate; server_no_context_takeover", to: Wishes(serverForgets: true)),
        Answer("permessage-deflate", to: Wishes(clientForgets: true, clientBits: 9)),
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
        // What was insisted on
        Answer("permessage-deflate", to: Wishes(serverForgets: true), fails: .extensionParameterInvalid),
        Answer("permessage-deflate", to: Wishes(serverBits: 10), fails: .extensionParameterInvalid),
        Answer(
            "permessage-deflate; server_max_window_bits=11", to: Wishes(serverBits: 10),
            fails: .extensionParameterInvalid),
        Answer(
            "permessage-deflate; client_max_window_bits=11", to: Wishes(clientBits: 10),
            fails: .extensionParameterInvalid),
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
        let client = try ClientHandshake(nonce: (1, 2), compression: answer.wishes.options)
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
    func `an answer without value or offer means the client's own choice`() throws {
        let own = try Self.agreement(Wishes(clientForgets: true, clientBits: 11), "permessage-deflate")
        #expect(own.clientNoContextTakeover && !own.serverNoContextTakeover)
        #expect(own.clientWindowBits == 11 && own.serverWindowBits == 15)
        let told = try Self.agreement(
            Wishes(),
            "permessage-deflate; client_no_context_takeover; server_no_context_takeover; "
                + "client_max_window_bits=9; server_max_window_bits=8")
        #expect(told.clientNoContextTakeover && told.serverNoContextTakeover)
        #expect(told.clientWindowBits == 9 && told.serverWindowBits == 8)
    }

    // MARK: The server answers offers

    struct Offer: Sendable, CustomTestStringConvertible {
        var header: [String]
        var server: Wishes
        var answer: String?
        var testDescription: String { "\(self.header)" }

        init(_ header: String..., server: Wishes = Wishes(), gives answer: String?) {
            self.header = header
            self.server = server
            self.answer = answer
        }
    }

    static let offers: [Offer] = [
        Offer("permessage-deflate", gives: "permessage-deflate"),
        Offer("permessage-deflate; client_max_window_bits", gives: "permessage-deflate"),
        Offer("permessage-deflate; client_max_window_bits=8", gives: "permessage-deflate; client_max_window_bits=8"),
        Offer("permessage-deflate; server_max_window_bits=15", gives: "permessage-deflate; server_max_window_bits=15"),
        Offer("permessage-deflate; server_max_window_bits=9", gives: "permessage-deflate; server_max_window_bits=9"),
        Offer(
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover",
            gives: "permessage-deflate; client_no_context_takeover; server_no_context_takeover"),
        // zlib does not compress with a window of 8 bits, nor is the client told of a window that it does not know of.
        Offer("permessage-deflate; server_max_window_bits=8", gives: nil),
        Offer("permessage-deflate; server_max_window_bits=8, permessage-deflate", gives: "permessage-deflate"),
        Offer("permessage-deflate", server: Wishes(clientBits: 10), gives: "permessage-deflate"),
        Offer(
            "permessage-deflate; client_max_window_bits", server: Wishes(clientBits: 10),
            gives: "permessage-deflate; client_max_window_bits=10"),
        Offer(
            "permessage-deflate", server: Wishes(serverBits: 8), gives: "permessage-deflate; server_max_window_bits=9"),
        Offer(
            "permessage-deflate", server: Wishes(clientForgets: true, serverForgets: true),
            gives: "permessage-deflate; client_no_context_takeover; server_no_context_takeover"),
        // Offers that cannot be met are passed over.
        Offer(
            "x, permessage-deflate; y", "permessage-deflate; client_max_window_bits=9",
            gives: "permessage-deflate; client_max_window_bits=9"),
        Offer("permessage-deflate; client_max_window_bits=7", gives: nil),
        Offer("permessage-deflate; server_max_window_bits", gives: nil),
        Offer("permessage-deflate; client_no_context_takeover=x", gives: nil),
        Offer("permessage-deflate; client_no_context_takeover; client_no_context_takeover", gives: nil),
        Offer("x-webkit-deflate-frame", gives: nil), Offer("", gives: nil), Offer(gives: nil),
    ]

    @Test(arguments: offers)
    func `the server takes the first offer that it can meet`(offer: Offer) throws {
        let response = try Self.serve(offer.server.options, offer.header)
        let answer = response.headers.first { $0.name == "Sec-WebSocket-Extensions" }
        #expect(answer?.value == offer.answer)
        #expect((response.compression == nil) == (offer.answer == nil))
    }

    @Test(arguments: ["permessage-deflate;", "a b", "=;"])
    func `the server refuses a header that is no list of extensions`(header: String) {
        let error = #expect(throws: WebSocketProtocolError.self) { try Self.serve(.init(), [header]) }
        #expect(error?.code == .extensionMalformed)
        #expect(error?.httpStatus == 400)
    }

    @Test
    func `both ends come to the same agreement, whatever either wishes`() throws {
        for client in Self.everyWish(serverBits: [8, 9, 15]) {
            for server in Self.everyWish(serverBits: [9, 15]) {
                let offer = try WebSocketExtension.parse([client.offer])
                guard let answer = server.answer(to: offer) else {
                    #expect(client.serverMaxWindowBits == 8)
                    continue
                }
                let agreed = try client.agreement(answer: try WebSocketExtension.parse([answer.header])[0])
                #expect(agreed.serverNoContextTakeover == answer.agreement.serverNoContextTakeover)
                #expect(agreed.serverWindowBits == answer.agreement.serverWindowBits)
                #expect(agreed.clientNoContextTakeover == answer.agreement.clientNoContextTakeover)
                #expect(agreed.clientWindowBits == answer.agreement.clientWindowBits)
            }
        }
    }

    private static func everyWish(serverBits: [Int]) -> [WebSocketCompression] {
        [false, true].flatMap { clientForgets in
            [false, true].flatMap { serverForgets in
                [9, 15].flatMap { clientBits in
                    serverBits.map { bits in
                        Wishes(
                            clientForgets: clientForgets, serverForgets: serverForgets, clientBits: clientBits,
                            serverBits: bits
                        ).options
                    }
                }
            }
        }
    }

    private static func agreement(_ wishes: Wishes, _ answer: String) throws -> CompressionAgreement {
        try wishes.options.agreement(answer: try #require(try WebSocketExtension.parse([answer]).first))
    }

    private static func serve(
        _ compression: WebSocketCompression?, _ offer: [String]
    ) throws -> ServerHandshake.Response {
        let fields = [
            "host": ["server.example.com"], "upgrade": ["websocket"], "connection": ["Upgrade"],
            "sec-websocket-key": ["dGhlIHNhbXBsZSBub25jZQ=="], "sec-websocket-version": ["13"],
            "sec-websocket-extensions": offer,
        ]
        return try ServerHandshake(compression: compression).accept(method: "GET") { fields[$0] ?? [] }
    }
}
