@testable import Linkspan
internal import LinkspanTesting
internal import Testing

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

private struct Moment: Codable, Sendable, Equatable { var seenAt: Date }

extension Event where Value == Moment, Reply == Moment {
    fileprivate static var moved: Self {
        Event("moved", coder: PayloadCoder(dates: .millisecondsSince1970, usesSnakeCase: true))
    }
}

@Suite("Events with a coder of their own", .timeLimit(.minutes(1)))
struct EventCoderTests {
    @Test
    func `a sent value is written by the coder of the event`() throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { harness.recorder.note($0.payload.text) }
        try harness.connection.send(.moved, Moment(seenAt: Date(timeIntervalSince1970: 1)))
        harness.scheduler.settle()
        #expect(harness.recorder.notes == [#"{"seen_at":1000}"#])
    }

    @Test
    func `a received value is read by the coder of the event, and the answer written by it`() throws {
        let harness = try Harness.connected()
        try harness.connection.on(.moved) { moment in
            harness.recorder.note("\((try? moment.get())?.seenAt.timeIntervalSince1970 ?? 0)")
        }
        try harness.connection.answer(.moved) { Moment(seenAt: $0.seenAt + 1) }
        harness.peers.first?.ask("moved", .json(#"{"seen_at":2000}"#)) { harness.recorder.note($0.text) }
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["2.0", #"{"seen_at":3000}"#])
    }
}
