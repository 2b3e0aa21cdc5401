/// The client's half of the opening handshake (RFC 6455 section 4.1).
///
/// Send ``headers`` with a GET request, and give the answer to ``verify(status:headers:)`` before any frame is sent.
package struct ClientHandshake: Sendable {
    /// The terms that the server accepted.
    package struct Accepted: Sendable, Hashable {
        /// The sub-protocol it chose of those offered, or nil if none.
        package var subprotocol: String?

        /// The compression of messages; nil for none.
        package var compression: CompressionAgreement?
    }

    /// The value of Sec-WebSocket-Key.
    package let key: String

    /// The sub-protocols offered, the preferred first.
    package let subprotocols: [String]

    /// The compression offered, or nil if none.
    package let compression: WebSocketCompression?

    /// Makes a handshake with the 16 random bytes of `nonce`, which must be fresh for each connection.
    ///
    /// - Throws: `subprotocolInvalid` if a name is no HTTP token or is given twice.
    package init(
        nonce: (UInt64, UInt64), subprotocols: [String] = [], compression: WebSocketCompression? = nil
    ) throws(WebSocketProtocolError) {
        try HandshakeRules.check(subprotocols: subprotocols)
        let bytes = [nonce.0, nonce.1].flatMap { withUnsafeBytes(of: $0.bigEndian, Array.init) }
        self.key = Base64.encode(bytes)
        self.subprotocols = subprotocols
        self.compression = compression
    }

    /// The headers to add to the request.
    package var headers: [(name: String, value: String)] {
        var headers = [
            (name: "Upgrade", value: "websocket"),
            (name: "Connection", value: "Upgrade"),
            (name: "Sec-WebSocket-Key", value: self.key),
            (name: "Sec-WebSocket-Version", value: "13"),
        ]
        if !self.subprotocols.isEmpty {
            headers.append((name: "Sec-WebSocket-Protocol", value: self.subprotocols.joined(separator: ", ")))
        }
        if self.compression != nil {
            headers.append((name: "Sec-WebSocket-Extensions", value: WebSocketCompression.offer))
        }
        return headers
    }

    /// Checks the server's answer.
    ///
    /// - Parameters:
    ///   - status: The status of the answer.
    ///   - headers: Gives the values of all fields with a name, which is in lower case, in their order.
    /// - Returns: What the server agreed to.
    /// - Throws: The first rule that is broken; the stream must then be dropped.
    package func verify(
        status: Int, headers: (String) -> [String]
    ) throws(WebSocketProtocolError) -> Accepted {
        guard status == 101 else {
            throw WebSocketProtocolError(.unexpectedStatus, "the server answered \(status) instead of 101")
        }
        try HandshakeRules.checkUpgrade(by: "the server", headers)
        let accept = HandshakeRules.single(headers("sec-websocket-accept"))
        guard accept == HandshakeRules.accept(key: self.key)[...] else {
            throw WebSocketProtocolError(.acceptMismatch, "the server's Sec-WebSocket-Accept does not match the key")
        }
        let extensions = try WebSocketExtension.parse(headers("sec-websocket-extensions"))
        let compression = try self.agreement(extensions)
        let subprotocol = try self.chosenSubprotocol(headers("sec-websocket-protocol"))
        return Accepted(subprotocol: subprotocol, compression: compression)
    }

    private func agreement(
        _ extensions: [WebSocketExtension]
    ) throws(WebSocketProtocolError) -> CompressionAgreement? {
        guard let first = extensions.first else { return nil }
        guard let compression = self.compression, extensions.allSatisfy({ $0.name == WebSocketCompression.name }) else {
            throw WebSocketProtocolError(.extensionNotOffered, "the server uses an extension that was not offered")
        }
        guard extensions.count == 1 else {
            throw WebSocketProtocolError(.extensionRepeated, "the server agreed to an extension more than once")
        }
        return try compression.agreement(answer: first)
    }

    private func chosenSubprotocol(_ fields: [String]) throws(WebSocketProtocolError) -> String? {
        guard !fields.isEmpty else { return nil }
        guard let chosen = HandshakeRules.single(fields).map(String.init), self.subprotocols.contains(chosen) else {
            throw WebSocketProtocolError(
                .subprotocolNotOffered, "the server chose a sub-protocol that was not offered")
        }
        return chosen
    }
}
