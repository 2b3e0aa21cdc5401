/// A typed event: its name, the type of its value and the type of its reply, checked by the compiler.
///
/// ```swift
/// extension Event where Value == Line, Reply == Receipt {
///     static var say: Self { Event("say") }
/// }
/// ```
///
/// ```swift
/// let receipt = try await connection.request(.say, Line(text: "hello"))
/// ```
///
/// The value is the event's first argument, the reply is the first argument of the answer; ``Arguments`` stands for
/// several. What is only sent has to be `Encodable`, what is only received `Decodable`. `Data` inside either travels as
/// binary. Use ``NoReply`` for an event without a reply.
public struct Event<Value: Sendable, Reply: Sendable>: Sendable {
    /// The name on the wire.
    public let name: String
    /// The coder for the value and the reply.
    public let coder: PayloadCoder

    /// Makes an event.
    ///
    /// - Parameters:
    ///   - name: the name on the wire.
    ///   - coder: how value and reply are written.
    public init(_ name: String, coder: PayloadCoder = .standard) {
        self.name = name
        self.coder = coder
    }
}

extension Event where Reply: Decodable {
    /// Reads the reply.
    func reply(in payload: Payload) throws(LinkspanError) -> Reply {
        if let nothing = NoReply() as? Reply { return nothing }
        return try payload.decode(Reply.self, coder: self.coder)
    }
}

/// The reply type of an event without a reply, or whose reply does not matter.
public struct NoReply: Codable, Sendable, Hashable {}
