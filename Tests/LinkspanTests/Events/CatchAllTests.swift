@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Listeners of everything")
struct CatchAllTests {
    private let harness = PoolHarness()
    private let recorder = EventRecorder()

    private func connect() throws -> ConnectionHandler {
        let handler = try self.harness.connect()
        self.harness.scheduler.settle()
        return handler
    }

    private func hear(_ event: String) {
        self.harness.transport.peers.first?.emit(event)
        self.harness.scheduler.settle()
    }

    @Test
    func `one that is to be first is called before those there are, those of other holders included`() throws {
        let (one, other) = (try self.connect(), try self.connect())
        let recorder = self.recorder
        try one.on("event") { _ in recorder.note("event") }
        try one.onAny { _ in recorder.note("a") }
        try other.onAny { _ in recorder.note("b") }
        try other.onAny(first: true) { _ in recorder.note("c") }
        try one.onAny(first: true) { _ in recorder.note("d") }
        try one.onAny { _ in recorder.note("e") }
        self.hear("event")
        #expect(recorder.notes == ["d", "c", "a", "b", "e", "event"])
    }

    @Test
    func `of what is sent, too`() throws {
        let (one, other) = (try self.connect(), try self.connect())
        let recorder = self.recorder
        try one.onAnyOutgoing { _ in recorder.note("a") }
        try other.onAnyOutgoing { _ in recorder.note("b") }
        try one.onAnyOutgoing(first: true) { _ in recorder.note("c") }
        try one.send("event")
        self.harness.scheduler.settle()
        #expect(recorder.notes == ["c", "a", "b"])
    }

    @Test
    func `a holder lists its own in the order of the calls, and ends one or all of them`() throws {
        let (one, other) = (try self.connect(), try self.connect())
        let recorder = self.recorder
        let a = try one.onAny { _ in recorder.note("a") }
        let b = try one.onAny { _ in recorder.note("b") }
        let c = try one.onAny(first: true) { _ in recorder.note("c") }
        let event = try one.on("event") { _ in recorder.note("event") }
        let outgoing = try one.onAnyOutgoing { _ in }
        let firstOutgoing = try one.onAnyOutgoing(first: true) { _ in }
        _ = one.onStateChange { _ in }
        try other.onAny { _ in recorder.note("other") }
        #expect(one.listeners(to: nil).map(ObjectIdentifier.init) == [c, a, b].map(ObjectIdentifier.init))
        #expect(one.listeners(to: "event").map(ObjectIdentifier.init) == [ObjectIdentifier(event)])
        #expect(
            one.outgoingListeners.map(ObjectIdentifier.init) == [firstOutgoing, outgoing].map(ObjectIdentifier.init))
        a.cancel()
        #expect(one.listeners(to: nil).map(ObjectIdentifier.init) == [c, b].map(ObjectIdentifier.init))
        for listener in one.listeners(to: nil) { listener.cancel() }
        self.hear("event")
        #expect(recorder.notes == ["other", "event"])
        one.release()
        #expect(one.listeners(to: "event").isEmpty && one.outgoingListeners.isEmpty)
    }
}
