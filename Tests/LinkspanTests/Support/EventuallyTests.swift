internal import TestSupport
internal import Testing

@Suite("Waits of tests", .timeLimit(.minutes(1)))
struct EventuallyTests {
    @Test
    func `a wait for what does not happen ends when its test is cancelled`() async {
        let wait = Task { await isEventually { false } }
        wait.cancel()
        #expect(await !wait.value)
        #expect(await isEventually { true })
    }
}
