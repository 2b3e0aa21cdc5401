/// The head of an HTTP/1.1 request, and its body.
package struct HTTPRequest: Sendable {
    /// The method.
    package var method: String
    /// The path, without the query, as it was sent.
    package var path: String
    /// The query, decoded; a name may come more than once.
    package var query: [(name: String, value: String)]
    /// The header fields in their order: names in lower case, and values without the spaces around them.
    package var fields: [(name: String, value: String)]
    /// Whether the client may send another request behind this one.
    package var isPersistent: Bool
    /// Whether the client sends the body only after a `100 Continue` response (RFC 9110 §10.1.1).
    package var expectsContinue = false
    /// The body.
    package var body: [UInt8] = []

    /// The values of all fields with a name in lower case.
    package func values(_ name: String) -> [String] { self.fields.filter { $0.name == name }.map(\.value) }

    /// The first value of a name in the query.
    package func parameter(_ name: String) -> String? { self.query.first { $0.name == name }?.value }

    /// Whether it wants to become a WebSocket.
    package var isUpgrade: Bool { self.values("upgrade").contains { $0.lowercased() == "websocket" } }
}

/// The reason why a request is not served.
package struct HTTPRequestError: Error, Sendable, Hashable {
    /// The status to answer with.
    package var status: Int
    /// One sentence, which quotes nothing the client said.
    package var message: String

    /// Makes an error.
    package init(status: Int, message: String) {
        self.status = status
        self.message = message
    }
}
