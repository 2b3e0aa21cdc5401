internal import Foundation
internal import LinkspanKit
internal import Synchronization
internal import TestSupport
internal import Testing

@testable internal import Ports

@Suite
struct ServiceTests {
    private static let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appendingPathComponent("Samples/Ports/Service/service.yaml").path

    @Test(.timeLimit(.minutes(1)))
    func `the file chooses the transport of the third party, and the service gets its options`() async throws {
        let hub = InMemoryHub()
        hub.onConnect { $0.onOther { $0.reply(.empty) } }
        let links = Mutex(0)
        let messaging = try await startCounted(file: Self.file, hub: hub) { links.withLock { $0 += 1 } }
        let connection = try await messaging.connect()
        _ = try await connection.request("ping")
        _ = try await connection.request("quote", "BTC")
        #expect(links.withLock { $0 } == 1)
        let service = try #require(messaging.services.services(of: SlowReplies.self).first)
        try await eventually { await !service.events.isEmpty }
        #expect(await service.events == ["quote"])
        #expect(await service.health() == .degraded("1 slow replies"))
        await messaging.stop()
    }
}
