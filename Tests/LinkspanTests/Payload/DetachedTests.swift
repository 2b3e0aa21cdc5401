@testable import Linkspan
internal import LinkspanTesting
internal import Testing

/// Received messages are slices of what was read; what is kept must not keep the read.
@Suite("Received bytes that are kept")
struct DetachedTests {
    /// A read of 64 KiB, and a small message in it.
    private static let read = Array(repeating: UInt8(ascii: "7"), count: 64 << 10)
    private static let small = Payload(trustedElements: Self.read[100..<120], attachments: [Self.read[200..<300]])

    private static func isInRead(_ bytes: ArraySlice<UInt8>) -> Bool {
        Self.read.withUnsafeBytes { read in
            bytes.withUnsafeBytes { bytes in
                guard let start = read.baseAddress, let address = bytes.baseAddress else { return false }
                return address >= start && address < start + read.count
            }
        }
    }

    private static func isInRead(_ payload: Payload) -> Bool {
        self.isInRead(payload.elements) || payload.attachments.contains { self.isInRead($0) }
    }

    @Test
    func `small ones are copied, large ones stay where they are`() {
        #expect(Self.isInRead(Self.small))
        #expect(!Self.isInRead(Self.small.detached()))
        #expect(Self.small.detached() == Self.small)
        #expect(Self.isInRead(Payload(trustedElements: Self.read[0..<40_000]).detached()))
        let message = Message(event: "event", payload: Self.small)
        #expect(!Self.isInRead(message.detached().payload))
    }

    @Test
    func `less than half of a message that is larger than a read is copied`() {
        let part = Self.read[0..<40_000]
        for count in [64 << 10, 80_000] { #expect(Self.isInRead(part.detached(from: count))) }
        #expect(!Self.isInRead(part.detached(from: 80_002)))
        #expect(part.detached(from: 80_002) == part)
    }

    @Test
    func `a message that waits in a sequence or for its first listener is a copy`() async throws {
        let harness = try Harness.connected()
        let stream = try harness.connection.events("queued")
        for event in ["queued", "held", "heard"] {
            if event == "heard" { try harness.connection.on(event) { #expect(Self.isInRead($0.payload)) } }
            harness.peers.first?.emit(event, Self.small)
        }
        harness.scheduler.settle()
        var iterator = stream.makeAsyncIterator()
        let queued = try #require(await iterator.next())
        #expect(!Self.isInRead(queued.message.payload))
        try harness.connection.on("held") { #expect(!Self.isInRead($0.payload)) }
        harness.scheduler.settle()
    }

    @Test
    func `a reply is a copy`() throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { $0.reply(Self.small) }
        try harness.perform(.request, "ask")
        harness.scheduler.settle()
        let reply = try #require(try harness.outcome("ask")?.get())
        #expect(reply == Self.small)
        #expect(!Self.isInRead(reply))
    }
}
