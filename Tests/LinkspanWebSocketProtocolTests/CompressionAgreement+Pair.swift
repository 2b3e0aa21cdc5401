@testable internal import LinkspanWebSocketProtocol
internal import Testing

extension CompressionAgreement {
    /// What a client and a server with these options make of each other's headers.
    static func pair(
        client: WebSocketCompression = .init(), server: WebSocketCompression = .init()
    ) throws -> (client: Self, server: Self) {
        let answer = try #require(server.answer(to: try WebSocketExtension.parse([client.offer])))
        let elements = try WebSocketExtension.parse([answer.header])
        return (try client.agreement(answer: try #require(elements.first)), answer.agreement)
    }

    /// What a client agrees on with a server that has no wishes.
    static func client(_ configure: (inout WebSocketCompression) -> Void = { _ in }) throws -> Self {
        try Self.pair(client: .init(configure)).client
    }
}
