/// The agreement of two ends on compression (RFC 7692 sections 5 and 7.1).
extension WebSocketCompression {
    /// The extension's name in the headers.
    static let name = "permessage-deflate"

    /// A window's size where nothing else is agreed on.
    private static let fullWindow = 15

    private enum ParameterName {
        static let clientNoContextTakeover = "client_no_context_takeover"
        static let serverNoContextTakeover = "server_no_context_takeover"
        static let clientMaxWindowBits = "client_max_window_bits"
        static let serverMaxWindowBits = "server_max_window_bits"
    }

    /// The parameters of an offer or an answer, each known, there once, and with a value it may have.
    private struct Parameters {
        var clientNoContextTakeover = false
        var serverNoContextTakeover = false
        /// Whether the client's window is spoken of, and the size if one is named.
        var hasClientWindow = false
        var clientWindowBits: Int?
        var serverWindowBits: Int?

        init?(_ parameters: [WebSocketExtension.Parameter]) {
            var names: Set<String> = []
            for parameter in parameters {
                guard names.insert(parameter.name).inserted, self.read(parameter) else { return nil }
            }
        }

        private mutating func read(_ parameter: WebSocketExtension.Parameter) -> Bool {
            switch (parameter.name, parameter.value) {
            case (ParameterName.clientNoContextTakeover, nil):
                self.clientNoContextTakeover = true
                return true
            case (ParameterName.serverNoContextTakeover, nil):
                self.serverNoContextTakeover = true
                return true
            case (ParameterName.clientMaxWindowBits, let value):
                self.hasClientWindow = true
                self.clientWindowBits = value.flatMap(Self.bits)
                return value == nil || self.clientWindowBits != nil
            case (ParameterName.serverMaxWindowBits, .some(let value)):
                self.serverWindowBits = Self.bits(value)
                return self.serverWindowBits != nil
            default:
                return false
            }
        }

        /// A number from 8 to 15, without leading zeros.
        private static func bits(_ text: String) -> Int? {
            guard let bits = Int(text), (8...15).contains(bits), String(bits) == text else { return nil }
            return bits
        }
    }

    // MARK: The client

    /// The client's offer.
    var offer: String {
        var elements = [Self.name]
        if self.clientNoContextTakeover { elements.append(ParameterName.clientNoContextTakeover) }
        if self.serverNoContextTakeover { elements.append(ParameterName.serverNoContextTakeover) }
        if self.serverMaxWindowBits < Self.fullWindow {
            elements.append("\(ParameterName.serverMaxWindowBits)=\(self.serverMaxWindowBits)")
        }
        // Without a value too it tells the server that it may name one.
        let isFull = self.clientMaxWindowBits == Self.fullWindow
        elements.append(ParameterName.clientMaxWindowBits + (isFull ? "" : "=\(self.clientMaxWindowBits)"))
        return elements.joined(separator: "; ")
    }

    /// The meaning of the server's answer to the offer.
    ///
    /// - Throws: `extensionParameterInvalid` if it is no answer to this offer.
    func agreement(answer: WebSocketExtension) throws(WebSocketProtocolError) -> CompressionAgreement {
        guard let answered = Parameters(answer.parameters), self.permits(answered) else {
            throw WebSocketProtocolError(
                .extensionParameterInvalid, "the server's answer does not fit the offer of compression")
        }
        return CompressionAgreement(
            clientNoContextTakeover: self.clientNoContextTakeover || answered.clientNoContextTakeover,
            serverNoContextTakeover: answered.serverNoContextTakeover,
            clientWindowBits: answered.clientWindowBits ?? self.clientMaxWindowBits,
            serverWindowBits: answered.serverWindowBits ?? Self.fullWindow, options: self)
    }

    /// Whether an answer grants what the offer insists on, and names no larger window than it.
    private func permits(_ answered: Parameters) -> Bool {
        let clientWindow = answered.clientWindowBits ?? 0
        let serverWindow = answered.serverWindowBits ?? Self.fullWindow
        return (answered.serverNoContextTakeover || !self.serverNoContextTakeover)
            && answered.hasClientWindow == (answered.clientWindowBits != nil)
            && clientWindow <= self.clientMaxWindowBits && serverWindow <= self.serverMaxWindowBits
    }

    // MARK: The server

    /// The answer to the first offer that can be met, or nil if there is none.
    func answer(to extensions: [WebSocketExtension]) -> (header: String, agreement: CompressionAgreement)? {
        for offer in extensions where offer.name == Self.name {
            if let offered = Parameters(offer.parameters), let agreement = self.agreement(offered) {
                return (Self.header(agreement, offered), agreement)
            }
        }
        return nil
    }

    private func agreement(_ offered: Parameters) -> CompressionAgreement? {
        // zlib has no compression for a window of 8 bits, so who needs that can't be served.
        guard offered.serverWindowBits != 8 else { return nil }
        let clientWindow = min(offered.clientWindowBits ?? Self.fullWindow, self.clientMaxWindowBits)
        return CompressionAgreement(
            clientNoContextTakeover: self.clientNoContextTakeover || offered.clientNoContextTakeover,
            serverNoContextTakeover: self.serverNoContextTakeover || offered.serverNoContextTakeover,
            // Only a client that spoke of its window can be told to take a smaller one.
            clientWindowBits: offered.hasClientWindow ? clientWindow : Self.fullWindow,
            serverWindowBits: min(offered.serverWindowBits ?? Self.fullWindow, max(self.serverMaxWindowBits, 9)),
            options: self)
    }

    private static func header(_ agreement: CompressionAgreement, _ offered: Parameters) -> String {
        var elements = [Self.name]
        if agreement.clientNoContextTakeover { elements.append(ParameterName.clientNoContextTakeover) }
        if agreement.serverNoContextTakeover { elements.append(ParameterName.serverNoContextTakeover) }
        if offered.serverWindowBits != nil || agreement.serverWindowBits < Self.fullWindow {
            elements.append("\(ParameterName.serverMaxWindowBits)=\(agreement.serverWindowBits)")
        }
        if agreement.clientWindowBits < Self.fullWindow {
            elements.append("\(ParameterName.clientMaxWindowBits)=\(agreement.clientWindowBits)")
        }
        return elements.joined(separator: "; ")
    }
}
