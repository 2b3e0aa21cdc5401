/// The compression settings that both ends agreed on, and this end's own choices.
package struct CompressionAgreement: Sendable, Hashable {
    /// Whether the client compresses each message without knowledge of those before.
    package internal(set) var clientNoContextTakeover: Bool

    /// Whether the server compresses each message without knowledge of those before.
    package internal(set) var serverNoContextTakeover: Bool

    /// The size of the client's window as a power of two, from 8 to 15.
    package internal(set) var clientWindowBits: Int

    /// The size of the server's window as a power of two, from 8 to 15.
    package internal(set) var serverWindowBits: Int

    /// Our own choices.
    let options: WebSocketCompression

    /// The compression by the end with `role`: its window, and whether it forgets after each message.
    func sending(_ role: WebSocketRole) -> (windowBits: Int, forgets: Bool) {
        switch role {
        case .client: (self.clientWindowBits, self.clientNoContextTakeover)
        case .server: (self.serverWindowBits, self.serverNoContextTakeover)
        }
    }
}
