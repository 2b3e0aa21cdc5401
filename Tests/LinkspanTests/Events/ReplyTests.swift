@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Replies", .timeLimit(.minutes(1)))
struct ReplyTests {
    @Test
    func `a reply that the link does not take may be followed by one that it takes`() throws {
        let harness = try Harness.connected(script: { _ in
            var script = LinkScript.perfect
            script.rejectsReply = {
                $0.byteCount > 50 ? LinkspanError(.messageTooLarge, "too large in a test") : nil
            }
            return script
        })
        let recorder = EventRecorder()
        try harness.connection.on("question") { message in
            try? message.reply(String(repeating: "x", count: 100))
            try? message.reply("small")
            try? message.reply("late")
        }
        harness.peers.first?.ask("question") { recorder.note($0.text) }
        harness.scheduler.settle()
        #expect(recorder.notes == [#""small""#])
        #expect(harness.connection.state == .connected)
    }
}
