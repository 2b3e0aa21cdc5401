/// The close code and reason with which a link is closed.
struct LinkClosing: Sendable {
    /// Nil for the code and reason of the transport.
    let code: UInt16?
    let reason: String

    /// The code and reason of the transport.
    static let standard = Self(code: nil, reason: "")

    private init(code: UInt16?, reason: String) { (self.code, self.reason) = (code, reason) }

    /// Takes a code that an endpoint may send (RFC 6455 section 7.4).
    init(code: UInt16, reason: String) throws(LinkspanError) {
        guard [1000...1003, 1007...1014, 3000...4999].contains(where: { $0.contains(code) }) else {
            throw LinkspanError(
                .invalidConfiguration,
                "the close code \(code) must not be sent; 1000 to 1003, 1007 to 1014 and 3000 to 4999 may be")
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
