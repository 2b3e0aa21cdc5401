/// The head of an HTTP/1.1 request, and its body.
struct HTTPRequest: Sendable {
    /// A header field; the name is in lower case.
    struct Field: Sendable, Hashable {
        var name: String
        var value: String
    }

    var method: String
    /// The path, without the query, as it was sent.
    var path: String
    /// The query, decoded; a name may come more than once.
    var query: [(name: String, value: String)]
    var fields: [Field]
    /// Whether the client may send another request behind this one.
    var isPersistent: Bool
    var body: [UInt8] = []

    /// The values of all fields with a name in lower case.
    func values(_ name: String) -> [String] { self.fields.filter { $0.name == name }.map(\.value) }

    /// The first value of a name in the query.
    func parameter(_ name: String) -> String? { self.query.first { $0.name == name }?.value }

    /// Whether it wants to become a WebSocket.
    var isUpgrade: Bool { self.values("upgrade").contains { $0.lowercased() == "websocket" } }
}

/// The reason why a request is not served.
struct HTTPRequestError: Error, Sendable, Hashable {
    /// The status to answer with.
    var status: Int
    /// One sentence, which quotes nothing the client said.
    var message: String
}
