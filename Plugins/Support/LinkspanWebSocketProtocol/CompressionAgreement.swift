/// The compression settings that both ends agreed on, and this end's own choices.
package struct CompressionAgreement: Sendable, Hashable {
    /// Whether the client compresses each message without knowledge of those before.
    var clientNoContextTakeover = false
    /// Whether the server compresses each message without knowledge of those before.
    var serverNoContextTakeover = false
    /// The size of the client's window as a power of two, from 8 to 15.
    var clientWindowBits = 15
    /// The size of the server's window as a power of two, from 8 to 15.
    var serverWindowBits = 15
    /// Our own choices.
    var options = WebSocketCompression()

    /// The compression by the end with `role`: its window, and whether it forgets after each message.
    func sending(_ role: WebSocketRole) -> (windowBits: Int, forgets: Bool) {
        switch role {
        case .client: (self.clientWindowBits, self.clientNoContextTakeover)
        case .server: (self.serverWindowBits, self.serverNoContextTakeover)
        }
    }
}

extension CompressionAgreement {
    /// The agreement by an answer without parameters.
    package init(_ options: WebSocketCompression) { self.init(options: options) }
}
