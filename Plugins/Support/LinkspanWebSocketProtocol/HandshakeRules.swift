/// The rules for both ends of the opening handshake (RFC 6455 section 4).
enum HandshakeRules {
    private static let guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

    /// The value that proves that a server has read the key.
    static func accept(key: String) -> String {
        Base64.encode(SHA1.digest(Array((key + Self.guid).utf8)))
    }

    /// The elements of a comma-separated header, over all its fields, without the white space around them.
    static func list(_ fields: [String]) -> [Substring] {
        fields.flatMap { $0.split(separator: ",") }.map(\.trimmed).filter { !$0.isEmpty }
    }

    /// Whether a comma-separated header has `token`, in whatever case.
    static func contains(_ token: String, in fields: [String]) -> Bool {
        Self.list(fields).contains { $0.lowercased() == token }
    }

    /// The value of a header that must be there once, or nil.
    static func single(_ fields: [String]) -> Substring? {
        fields.count == 1 ? fields.first.map { $0[...].trimmed } : nil
    }

    /// Checks the fields of both messages by which the protocol is upgraded.
    static func checkUpgrade(by sender: String, _ headers: (String) -> [String]) throws(WebSocketProtocolError) {
        guard Self.contains("websocket", in: headers("upgrade")) else {
            throw WebSocketProtocolError(.upgradeMissing, "\(sender) does not upgrade to websocket")
        }
        guard Self.contains("upgrade", in: headers("connection")) else {
            throw WebSocketProtocolError(.connectionMissing, "\(sender)'s Connection header lacks upgrade")
        }
    }

    /// Checks the names of sub-protocols that are to be offered, which also keeps line breaks out of the headers.
    static func check(subprotocols: [String]) throws(WebSocketProtocolError) {
        guard subprotocols.allSatisfy({ HTTPToken.isValid($0.utf8) }), Set(subprotocols).count == subprotocols.count
        else {
            throw WebSocketProtocolError(.subprotocolInvalid, "a sub-protocol is no HTTP token or is given twice")
        }
    }
}
