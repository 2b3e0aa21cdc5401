#if Outbox && Metrics
internal import Foundation
internal import Linkspan
@testable import LinkspanOutbox
internal import OutboxFixtures
internal import Testing

@Suite("A sealed outbox")
struct OutboxCipherTests {
    /// Turns bits over; has no key while it is locked.
    private struct Mask: OutboxCipher {
        struct Locked: Error {}

        var mask: UInt8 = 0x5A
        var isLocked = false

        func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] {
            guard !self.isLocked else { throw Locked() }
            return [UInt8(context.count)] + bytes.map { $0 ^ self.mask }
        }

        func open(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] {
            guard !self.isLocked, bytes.first == UInt8(context.count) else { throw Locked() }
            return bytes.dropFirst().map { $0 ^ self.mask }
        }
    }

    private let folder: Folder
    private let secret = Payload(trustedElements: Array("\"the secret of ann\"".utf8)[...])

    init() throws { self.folder = try Folder() }

    private func driver(_ cipher: (any OutboxCipher)?) -> Driver { Driver(self.folder.outbox) { $0.cipher = cipher } }

    /// Whether any file has the text.
    private func isReadable(_ text: String) throws -> Bool {
        try self.folder.files.contains { name in
            let data = try Data(contentsOf: URL(fileURLWithPath: "\(self.folder.path)/\(name)"))
            return data.range(of: Data(text.utf8)) != nil
        }
    }

    @Test
    func `neither file nor log has payloads or replies in plaintext`() throws {
        let driver = self.driver(Mask())
        _ = try driver.keep(delivery("a", self.secret)).get()
        driver.end(try driver.keep(delivery("b", self.secret)).get(), .success(self.secret))
        #expect(try !self.isReadable("the secret"))
        driver.shut()
        let next = self.driver(Mask())
        #expect(try next.find("a").get()?.payload == self.secret)
        #expect(try next.find("b").get()?.outcome?.get() == self.secret)
        // The test looks well enough.
        let plain = try Folder()
        let unsealed = Driver(plain.outbox)
        _ = try unsealed.keep(delivery("a", self.secret)).get()
        let log = try Data(contentsOf: URL(fileURLWithPath: "\(plain.outbox)-wal"))
        #expect(log.range(of: Data("the secret".utf8)) != nil)
        unsealed.shut()
    }

    @Test
    func `without its key nothing is accepted, sent or moved aside, and with it all goes on`() throws {
        let first = self.driver(Mask())
        _ = try first.keep(delivery("a", self.secret)).get()
        first.shut()
        let locked = self.driver(Mask(isLocked: true))
        #expect(locked.keep(delivery("b", self.secret)).outboxCode == .cipherFailed)
        try locked.open().get()
        #expect(locked.load().outboxCode == .cipherFailed)
        locked.shut()
        let none = self.driver(nil)
        #expect(none.find("a").outboxCode == .cipherFailed)
        none.shut()
        #expect(!self.folder.files.contains { $0.contains("damaged") })
        #expect(try self.driver(Mask()).waiting() == ["a"])
    }

    @Test
    func `rows from before the cipher are read, and sealed when asked for`() async throws {
        let first = self.driver(nil)
        _ = try first.keep(delivery("a", self.secret)).get()
        first.shut()
        let next = self.driver(Mask())
        #expect(try next.find("a").get()?.payload == self.secret)
        try await next.outbox.reseal()
        next.shut()
        #expect(self.driver(nil).find("a").outboxCode == .cipherFailed)
    }
}
#endif
