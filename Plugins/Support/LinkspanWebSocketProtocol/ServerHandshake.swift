/// The server's half of the opening handshake (RFC 6455 section 4.2).
package struct ServerHandshake: Sendable {
    /// An answer to send: an agreement with status 101, or a refusal.
    package struct Response: Sendable {
        /// The HTTP status.
        package var status: Int

        /// The headers that belong to the handshake.
        package var headers: [(name: String, value: String)]
    }

    /// The sub-protocols the server speaks.
    package let subprotocols: [String]

    /// Makes a handshake for a server that speaks `subprotocols`.
    ///
    /// - Throws: `subprotocolInvalid` if a name is no HTTP token or is given twice.
    package init(subprotocols: [String] = []) throws(WebSocketProtocolError) {
        try HandshakeRules.check(subprotocols: subprotocols)
        self.subprotocols = subprotocols
    }

    /// Checks a client's request and gives the answer that agrees.
    ///
    /// Of the sub-protocols the client offers, the first that the server speaks is chosen. No extension is.
    ///
    /// - Parameters:
    ///   - method: The request's method.
    ///   - headers: Gives the values of all fields with a name, which is in lower case, in their order.
    /// - Returns: The answer to send.
    /// - Throws: The first rule that is broken; ``rejection(for:)`` makes the answer to it.
    package func accept(
        method: String, headers: (String) -> [String]
    ) throws(WebSocketProtocolError) -> Response {
        guard method == "GET" else {
            throw WebSocketProtocolError(.methodNotAllowed, "the request's method is not GET")
        }
        guard HandshakeRules.single(headers("host")) != nil else {
            throw WebSocketProtocolError(.hostMissing, "the request does not name one host")
        }
        try HandshakeRules.checkUpgrade(by: "the request", headers)
        guard HandshakeRules.single(headers("sec-websocket-version")) == "13" else {
            throw WebSocketProtocolError(.versionUnsupported, "the client does not speak version 13")
        }
        guard let key = HandshakeRules.single(headers("sec-websocket-key")).map(String.init),
            Base64.isSixteenBytes(key)
        else {
            throw WebSocketProtocolError(.keyInvalid, "the client's key is not 16 bytes in base64")
        }
        _ = try WebSocketExtension.parse(headers("sec-websocket-extensions"))
        return self.agreement(key: key, subprotocols: HandshakeRules.list(headers("sec-websocket-protocol")))
    }

    /// The answer to a request that broke a rule.
    package static func rejection(for error: WebSocketProtocolError) -> Response {
        let headers =
            switch error.httpStatus {
            case 405: [(name: "Allow", value: "GET")]
            case 426: [(name: "Upgrade", value: "websocket"), (name: "Sec-WebSocket-Version", value: "13")]
            default: [(name: String, value: String)]()
            }
        return Response(status: error.httpStatus, headers: headers)
    }

    private func agreement(key: String, subprotocols: [Substring]) -> Response {
        let subprotocol = subprotocols.lazy.map(String.init).first(where: self.subprotocols.contains)
        var headers = [
            (name: "Upgrade", value: "websocket"),
            (name: "Connection", value: "Upgrade"),
            (name: "Sec-WebSocket-Accept", value: HandshakeRules.accept(key: key)),
        ]
        if let subprotocol {
            headers.append((name: "Sec-WebSocket-Protocol", value: subprotocol))
        }
        return Response(status: 101, headers: headers)
    }
}
