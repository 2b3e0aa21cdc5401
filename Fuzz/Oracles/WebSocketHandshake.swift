@testable internal import LinkspanWebSocketProtocol

extension FuzzTarget {
    /// The server's answer to a WebSocket handshake: status, Upgrade, Connection, Accept, Protocol, Extensions.
    ///
    /// `=` in the place of Accept stands for the right value. What is accepted names websocket, proves the key, and
    /// chooses only what was offered.
    public static let webSocketHandshake = Self(
        name: "websocket-handshake", maximumLength: 1024
    ) { input throws(Violation) in
        let fields = FuzzInput.fields(input, 6)
        guard let handshake = try? ClientHandshake(nonce: (1, 2), subprotocols: ["chat", "superchat"]) else {
            throw Violation(message: "a handshake cannot be made")
        }
        let right = HandshakeRules.accept(key: handshake.key)
        let values = [
            "upgrade": fields[1], "connection": fields[2],
            "sec-websocket-accept": fields[3].replacing("=", with: right, maxReplacements: 1),
            "sec-websocket-protocol": fields[4], "sec-websocket-extensions": fields[5],
        ]
        let accepted = try? handshake.verify(status: Int(fields[0]) ?? 0) { name in
            values[name].flatMap { $0.isEmpty ? nil : [$0] } ?? []
        }
        guard let accepted else { return }
        func has(_ token: String, in name: String) -> Bool {
            (values[name] ?? "").lowercased().split(separator: ",").contains { part in
                part.drop { $0 == " " || $0 == "\t" }.prefix(token.count) == token
            }
        }
        try require(fields[0].hasSuffix("101"), "another status is accepted")
        try require(has("websocket", in: "upgrade"), "an upgrade to something else is accepted")
        try require(has("upgrade", in: "connection"), "a connection that is not upgraded is accepted")
        let proof = (values["sec-websocket-accept"] ?? "").filter { $0 != " " && $0 != "\t" }
        try require(proof == right, "a wrong proof is accepted")
        try require(accepted.subprotocol.map(["chat", "superchat"].contains) ?? true, "a foreign protocol is accepted")
        try require(!fields[5].contains { !", \t".contains($0) }, "an extension is accepted")
    }
}
