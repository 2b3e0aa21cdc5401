/// The close code and reason with which a link is closed.
struct LinkClosing: Sendable {
    /// Nil for the code and reason of the transport.
    let code: UInt16?
    let reason: String

    /// The code and reason of the transport.
    static let standard = Self(code: nil, reason: "")

    private init(code: UInt16?, reason: String) { (self.code, self.reason) = (code, reason) }

    /// Takes what an app may choose, as the WebSockets of browsers do.
    init(code: UInt16, reason: String) throws(LinkspanError) {
        guard code == 1000 || (3000...4999).contains(code) else {
            throw LinkspanError(
                .invalidConfiguration, "the close code \(code) is not for apps, which have 1000 and 3000 to 4999")
        }
        self.init(code: .some(code), reason: reason)
    }
}

extension Link {
    /// Closes the link; aborts it without a closing.
    func end(_ closing: LinkClosing?) {
        if let closing { self.close(code: closing.code, reason: closing.reason) } else { self.abort() }
    }
}
