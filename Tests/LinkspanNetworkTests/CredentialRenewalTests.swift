internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@Suite("Renewed credentials over an open link")
struct CredentialRenewalTests {
    /// A link that answers each message in the same way.
    private final class AnsweringLink: Link {
        let sent = Lock<[String]>([])
        private let acceptance: SendAcceptance

        init(_ acceptance: SendAcceptance) { self.acceptance = acceptance }

        func open() {}
        func send(_ message: OutboundMessage) -> SendAcceptance {
            self.sent.withLock { $0.append(message.event) }
            return self.acceptance
        }
        func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { .refused }
        func close(code: UInt16?, reason: String) {}
        func abort() {}
    }

    @Test(arguments: [
        (SendAcceptance.accepted, true), (.acceptedAndFull, true), (.refused, false),
        (.rejected(LinkspanError(.unsupported, "no")), false),
    ])
    func `are on their way when the link takes them`(acceptance: SendAcceptance, isSent: Bool) throws {
        let link = AnsweringLink(acceptance)
        #expect(link.sendRenewal(try Credentials(auth: "token"), by: "renew") == isSent)
        #expect(link.sent.withLock { $0 } == ["renew"])
    }

    @Test
    func `are not sent without an event or an auth payload`() throws {
        let link = AnsweringLink(.accepted)
        #expect(try !link.sendRenewal(Credentials(auth: "token"), by: nil))
        #expect(!link.sendRenewal(Credentials(), by: "renew"))
        #expect(link.sent.withLock { $0 }.isEmpty)
    }
}
