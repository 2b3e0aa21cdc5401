/// The agreement of a client with a server on compression (RFC 7692 sections 5 and 7.1).
extension WebSocketCompression {
    /// The extension's name in the headers.
    static let name = "permessage-deflate"

    /// The client's offer; its parameter tells the server that it may name the client's window.
    static let offer = "\(Self.name); client_max_window_bits"

    /// The meaning of the server's answer to the offer.
    ///
    /// - Throws: `extensionParameterInvalid` when a parameter is unknown or repeated, or has a value that it must not have.
    func agreement(answer: WebSocketExtension) throws(WebSocketProtocolError) -> CompressionAgreement {
        var agreement = CompressionAgreement(self)
        var names: Set<String> = []
        for parameter in answer.parameters {
            guard names.insert(parameter.name).inserted, agreement.take(parameter) else {
                throw WebSocketProtocolError(
                    .extensionParameterInvalid, "the server's answer does not fit the offer of compression")
            }
        }
        return agreement
    }
}

extension CompressionAgreement {
    /// Takes a parameter of the server's answer; false for one that is invalid.
    fileprivate mutating func take(_ parameter: WebSocketExtension.Parameter) -> Bool {
        let bits = parameter.value.flatMap(Self.bits)
        switch (parameter.name, bits) {
        case ("client_no_context_takeover", nil): self.clientNoContextTakeover = true
        case ("server_no_context_takeover", nil): self.serverNoContextTakeover = true
        case ("client_max_window_bits", let bits?): self.clientWindowBits = bits
        case ("server_max_window_bits", let bits?): self.serverWindowBits = bits
        default: return false
        }
        return bits != nil || parameter.value == nil
    }

    /// A number from 8 to 15, without leading zeros.
    private static func bits(_ text: String) -> Int? {
        guard let bits = Int(text), (8...15).contains(bits), String(bits) == text else { return nil }
        return bits
    }
}
