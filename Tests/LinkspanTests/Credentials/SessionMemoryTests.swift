@testable import Linkspan
internal import LinkspanRuntime
internal import Testing

@Suite("The memory of sessions")
struct SessionMemoryTests {
    private final class ResumingLink: Link {
        let resumption: Secret?

        init(_ resumption: Secret?) { self.resumption = resumption }

        func open() {}
        func send(_ message: OutboundMessage) -> SendAcceptance { .refused }
        func reply(to id: UInt64, with payload: Payload) -> SendAcceptance { .refused }
        func close(code: UInt16?, reason: String) {}
        func abort() {}
    }

    private let now = Moment.now
    private let one = StoredSession(resumption: Secret("1"))
    private let two = StoredSession(resumption: Secret("2"))

    private func resumption(_ memory: SessionMemory) -> Secret? {
        memory.resumption(isLeft: false, isReleased: false, kept: nil)
    }

    @Test
    func `the next link resumes from what was published only when the latest was given up`() {
        var memory = SessionMemory(resuming: nil, isStored: false)
        memory.follow(ResumingLink(Secret("1")))
        _ = memory.publish(Secret("published"))
        memory.linkEnded(politely: true)
        #expect(self.resumption(memory) == Secret("1"))
        memory.linkEnded(politely: false)
        #expect(self.resumption(memory) == Secret("published"))
        memory.follow(ResumingLink(Secret("2")))
        #expect(self.resumption(memory) == Secret("2"))
    }

    @Test
    func `a connection that was released resumes nothing, nor does one whose account is opened again`() {
        let released = SessionMemory(resuming: nil, isStored: false)
        #expect(released.resumption(isLeft: true, isReleased: true, kept: Secret("kept")) == nil)
        var memory = SessionMemory(resuming: nil, isStored: true)
        memory.reopen(isSameAccount: true)
        _ = memory.storeAnswered(self.one)
        #expect(self.resumption(memory) == nil)
        memory.reopen(isSameAccount: false)
        _ = memory.storeAnswered(self.one)
        #expect(self.resumption(memory) == Secret("1"))
    }

    @Test
    func `a store gets each session once and at most one a second, and its first answer counts`() {
        var sessions = StoredSessions()
        func next(_ session: StoredSession, after seconds: Int) -> String {
            switch sessions.next(session, now: self.now + .seconds(seconds)) {
            case .keep: "keep"
            case .wait(let due): "wait \(due == self.now + .seconds(1))"
            case nil: "nothing"
            }
        }
        let steps = [next(self.one, after: 0), next(self.two, after: 0), next(self.two, after: 0)]
        #expect(steps == ["keep", "wait true", "nothing"])
        let later = [next(self.two, after: 2), next(self.two, after: 4)]
        #expect(later == ["keep", "nothing"])
        for session in [self.one, self.two] { _ = sessions.answered(session) }
        #expect(sessions.former == self.one)
    }
}
