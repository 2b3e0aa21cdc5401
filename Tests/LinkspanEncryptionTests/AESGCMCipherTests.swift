#if Encryption && OUTBOX
internal import Crypto
internal import Foundation
internal import Linkspan
internal import LinkspanOutbox
@testable internal import LinkspanEncryption
internal import LinkspanRuntime
internal import Testing

@Suite("AES-GCM for an outbox")
struct AESGCMCipherTests {
    private static let keys = (1...2).map { (id: UInt32($0), key: SymmetricKey(size: .bits256)) }

    private static func cipher(present: Int) -> AESGCMCipher {
        AESGCMCipher { id throws in
            guard let key = Self.keys.first(where: { $0.id == id ?? UInt32(present) }) else {
                throw AESGCMCipher.Failure.unknownKey(id ?? 0)
            }
            return key
        }
    }

    @Test
    func `sealed bytes open in their context only, and not after a change`() throws {
        let cipher = Self.cipher(present: 1)
        let (text, context) = (Array("a secret".utf8), Array("row 1".utf8))
        let sealed = try cipher.seal(text, context: context)
        #expect(try cipher.open(sealed, context: context) == text)
        #expect(try Self.cipher(present: 2).open(sealed, context: context) == text)
        #expect(throws: (any Error).self) { try cipher.open(sealed, context: Array("row 2".utf8)) }
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(throws: (any Error).self) { try cipher.open(changed, context: context) }
        }
        #expect(throws: AESGCMCipher.Failure.malformed) { try cipher.open([1, 2, 3], context: context) }
    }

    @Test
    func `two seals of one text differ`() throws {
        let cipher = Self.cipher(present: 1)
        #expect(try cipher.seal([1, 2, 3], context: []) != cipher.seal([1, 2, 3], context: []))
    }

    @Test
    func `a sealed outbox changes keys, and then no longer needs the former one`() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appendingPathComponent("outbox.sqlite").path
        let first = Outbox(path: path) { $0.cipher = Self.cipher(present: 1) }
        let payload = try Payload("a secret")
        await withCheckedContinuation { continuation in
            first.executor.execute {
                let delivery = StoredDelivery(key: "k", orderingKey: "room", event: "say", payload: payload)
                first.keep(delivery) { _ in continuation.resume() }
            }
        }
        await first.close()
        let second = Outbox(path: path) { $0.cipher = Self.cipher(present: 2) }
        try await second.reseal()
        await second.close()
        let newOnly = AESGCMCipher { id throws in
            guard id ?? 2 == 2 else { throw AESGCMCipher.Failure.unknownKey(id ?? 0) }
            return Self.keys[1]
        }
        #expect(try Outbox.entries(at: path, cipher: newOnly).map(\.delivery.payload) == [payload])
        #expect(throws: OutboxError.self) { try Outbox.entries(at: path) }
    }
}
#endif
