internal import Linkspan
internal import Testing

/// Bytes of a hostile broker, and the code of the error that they end the link with; nil for none.
struct Attack: Sendable, CustomTestStringConvertible {
    let testDescription: String
    private let bytes: [UInt8]
    private let code: LinkspanError.Code?

    init(_ name: String, _ bytes: [UInt8], _ code: LinkspanError.Code? = .protocolViolation) {
        (self.testDescription, self.bytes, self.code) = (name, bytes, code)
    }

    /// Gives the bytes to a session that is ready, and to one that is not.
    func strike(ready: Received, fresh: Received) throws {
        for (session, isReady) in [(ready, true), (fresh, false)] {
            var session = session
            do throws(LinkspanError) {
                try session.receive(self.bytes)
                #expect(self.code == nil || !isReady)
                #expect(session.lines.count <= 1)
            } catch {
                if isReady { #expect(error.code == self.code) }
                #expect(!error.message.utf8.contains { $0 < 0x20 })
            }
        }
    }
}
