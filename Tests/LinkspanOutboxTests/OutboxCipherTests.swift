#if OUTBOX && Metrics
internal import Foundation
internal import GRDB
internal import Linkspan
@testable import LinkspanOutbox
internal import TestSupport
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

    /// Opens nothing that another has sealed.
    private struct WrongKey: OutboxCipher {
        struct Failure: Error {}

        func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] { [0] + bytes }

        func open(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] {
            guard bytes.first == 0 else { throw Failure() }
            return Array(bytes.dropFirst())
        }
    }

    /// Opens only what was sealed in the same context.
    private struct Bound: OutboxCipher {
        struct Failure: Error {}

        func seal(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] { context + bytes }

        func open(_ bytes: [UInt8], context: [UInt8]) throws -> [UInt8] {
            guard bytes.starts(with: context) else { throw Failure() }
            return Array(bytes.dropFirst(context.count))
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
    func `what was sealed opens in its own row alone: role, key and account are its context`() throws {
        let sealing = SealedPayload(cipher: Bound())
        let data = try sealing.encode(self.secret, .content, key: "k", account: "@ann")
        #expect(try sealing.decode(data, .content, key: "k", account: "@ann") == self.secret)
        for (role, key, account) in [(.reply, "k", "@ann"), (.content, "l", "@ann"), (.content, "k", "@bob")]
            as [(SealedPayload.Role, String, String)]
        {
            let error = #expect(throws: OutboxError.self) {
                try sealing.decode(data, role, key: key, account: account)
            }
            #expect(error?.code == .cipherFailed)
        }
    }

    @Test
    func `a payload with a byte too many or too few is none`() throws {
        let data = PayloadCoding.encode(self.secret)
        #expect(PayloadCoding.decode(data) == self.secret)
        #expect(PayloadCoding.decode(data + [0]) == nil)
        // The number of attachments, and that of the bytes in five groups.
        #expect(PayloadCoding.decode(Data([0, 0x81, 0x80, 0x80, 0x80, 0, 0x37])) == (try Payload(7)))
        #expect(PayloadCoding.decode(Data([0, 0x81, 0x80, 0x80, 0x80, 0x80, 0, 0x37])) == nil)
        #expect(PayloadCoding.decode(data.dropLast()) == nil)
    }

    @Test(arguments: [(1, 0, true), (1, 1, true), (1, 2, false), (0, 1, false), (0, 0, false)])
    func `a key is right when it opens at least half of what is sealed`(_ right: Int, _ wrong: Int, _ isRight: Bool)
        throws
    {
        let sealing = SealedPayload(cipher: Mask())
        let queue = try DatabaseQueue()
        try queue.write { database in
            try database.execute(sql: "CREATE TABLE delivery (number INTEGER PRIMARY KEY, key, account, code, content)")
            for number in 0..<right + wrong {
                let data = try sealing.encode(self.secret, .content, key: number < right ? "a" : "another", account: "")
                try database.execute(
                    sql: "INSERT INTO delivery (key, account, content) VALUES ('a', '', ?)", arguments: [data])
            }
            #expect(sealing.opensMost(.content, in: database) == isRight)
            #expect(!sealing.opensMost(.received, in: database), "there is no such table")
        }
    }

    @Test
    func `the first byte says whether a payload is sealed`() throws {
        for (cipher, first) in [(nil, 0), (Mask(), 1)] as [(Mask?, UInt8)] {
            #expect(
                try SealedPayload(cipher: cipher).encode(self.secret, .content, key: "a", account: "").first == first)
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

    @Test(arguments: ["a", "b", "c"])
    func `a sealed row that was changed ends alone, and the others are delivered`(_ changed: String) throws {
        let first = self.driver(Mask())
        for key in ["a", "b", "c"] { _ = try first.keep(delivery(key, self.secret)).get() }
        first.shut()
        try Database.execute("UPDATE delivery SET content = x'01FF00' WHERE key = '\(changed)'", in: self.folder.outbox)
        let next = self.driver(Mask())
        #expect(try next.waiting() == ["a", "b", "c"].filter { $0 != changed })
        #expect(next.outcomes().map(\.delivery.key) == [changed])
        #expect(try next.find(changed).get()?.failure?.code == .decodingFailed)
        // It is no reason to take the key for a wrong one, nor is its outcome to be read again with each page.
        #expect(try next.waiting() == ["a", "b", "c"].filter { $0 != changed })
        #expect(next.confirm(changed))
    }

    @Test
    func `with a wrong key for all rows none ends, also when new ones are sealed with it`() throws {
        let first = self.driver(Mask())
        for key in ["a", "b", "c"] { _ = try first.keep(delivery(key, self.secret)).get() }
        first.shut()
        let wrong = self.driver(WrongKey())
        _ = try wrong.keep(delivery("d", self.secret)).get()
        try wrong.open().get()
        #expect(wrong.load().outboxCode == .cipherFailed)
        #expect(wrong.outcomes().isEmpty)
        wrong.shut()
        try Database.execute("DELETE FROM delivery WHERE key = 'd'", in: self.folder.outbox)
        #expect(try self.driver(Mask()).waiting() == ["a", "b", "c"])
    }

    @Test
    func `a sealed event that was changed is a gap, and the others are offered`() throws {
        let first = self.driver(Mask())
        for _ in 0..<3 { first.record(Message(event: "line", payload: self.secret)) }
        first.shut()
        try Database.execute(
            "UPDATE received SET content = x'01FF00' WHERE number = (SELECT min(number) FROM received)",
            in: self.folder.outbox)
        let next = self.driver(Mask())
        #expect(next.received().map(\.isGap) == [true, false, false])
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
