@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@Suite("Looking at commands, and clearing them")
struct InspectionTests {
    @Test
    func `every command without an outcome is listed, with where it is`() async throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        try harness.perform(.send, "gone")
        try harness.perform(.request, "asked")
        try harness.perform(.deliver(orderingKey: "room"), "first")
        try harness.perform(.deliver(orderingKey: "room"), "second")
        #expect(await harness.connection.commands.map(\.event) == ["asked", "first", "second"])
        #expect(await harness.connection.commands.map(\.stage) == [.underWay, .underWay, .waiting])
        harness.peers.first?.drop()
        harness.scheduler.settle()
        try harness.perform(.send, "kept")
        #expect(await harness.connection.commands.map(\.event) == ["first", "second", "kept"])
        #expect(await harness.connection.commands.map(\.stage) == [.interrupted, .waiting, .waiting])
        #expect(await harness.connection.commands.map(\.byteCount) == [5, 6, 4])
    }

    @Test
    func `those that are meant are given up, each with what is known of it, and the rest stays`() async throws {
        let harness = try Harness { _ in .perfect }
        harness.transport.onMessage { if $0.event.hasPrefix("keep") { $0.reply() } }
        try harness.enter(.connected)
        try harness.perform(.request, "drop asked")
        try harness.perform(.deliver(orderingKey: "room"), "drop first")
        try harness.perform(.deliver(orderingKey: "room"), "keep second")
        harness.connection.cancelCommands { $0.event.hasPrefix("drop") }
        for event in ["drop asked", "drop first"] {
            #expect(harness.failure(event)?.code == .cancelled)
            #expect(harness.failure(event)?.certainty == .unknown)
        }
        harness.scheduler.settle()
        #expect(harness.isSuccess("keep second"))
        try harness.connection.disconnect()
        for event in ["drop send", "keep send"] { try harness.perform(.send, event) }
        harness.connection.cancelCommands { $0.kind == .send && $0.event.hasPrefix("drop") }
        #expect(harness.failure("drop send")?.certainty == .notSent)
        harness.connection.cancelCommands { _ in false }
        #expect(await harness.connection.commands.map(\.event) == ["keep send"])
    }

    @Test
    func `the judge may use the connection`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.perform(.send, "a")
        let connection = harness.connection
        connection.cancelCommands { _ in connection.status.waitingCommands == 1 }
        #expect(harness.failure("a")?.code == .cancelled)
    }

    @Test
    func `a send that is cancelled while the link is asked is not sent later`() throws {
        let cancel = Lock<(@Sendable () -> Void)?>(nil)
        let full = LinkspanError(.messageTooLarge, "no")
        // The second link's first message is rejected; while it is asked, the next one of the same turn is cancelled.
        let harness = try Harness { _ in
            .init {
                $0.capacity = 1
                $0.rejects = { message in
                    if message.event == "a" { cancel.withLock { $0 }?() }
                    return message.event == "never" ? full : nil
                }
            }
        }
        let second = Command(.send, event: "b", payload: .empty, completion: harness.recorder.completion("b"))
        let connection = harness.connection
        cancel.withLock { $0 = { connection.cancel(second.id) } }
        try harness.perform(.send, "a")
        try connection.perform(second)
        try harness.perform(.send, "c")
        try harness.enter(.connected)
        #expect(harness.failure("b")?.code == .cancelled)
        while connection.status.waitingCommands > 0 {
            try #require(harness.peers.first).read()
            harness.scheduler.settle()
        }
        #expect(harness.transport.sent.map(\.event) == ["a", "c"])
    }

    @Test
    func `a thousand requests that end at once end in order`() throws {
        let harness = try Harness { _ in .perfect }
        try harness.enter(.connected)
        for number in 0..<1_000 { try harness.perform(.request, "\(number)", timeout: .seconds(5)) }
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.recorder.endedLabels == (0..<1_000).map(String.init))
    }
}
