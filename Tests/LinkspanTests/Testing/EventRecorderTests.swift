internal import LinkspanTesting
internal import Testing

@Suite("The event recorder", .timeLimit(.minutes(1)))
struct EventRecorderTests {
    @Test
    func `waiting ends with the entry that was waited for, also when it is there already`() async throws {
        let recorder = EventRecorder()
        async let waiting: Void = recorder.wait(for: "two notes") { $0.count == 2 }
        recorder.note("a")
        recorder.note("b")
        try await waiting
        try await recorder.wait(for: "two notes") { $0.count == 2 }
    }

    @Test
    func `a missed event is named, with the recorded ones`() async {
        let recorder = EventRecorder()
        recorder.note("something else")
        let missed = await #expect(throws: EventRecorder.Missed.self) {
            try await recorder.wait(for: "the miracle", within: .milliseconds(20)) { _ in false }
        }
        #expect(missed?.description.contains("the miracle did not happen within 0.02 seconds") == true)
        #expect(missed?.description.contains("note: something else") == true)
    }

    @Test
    func `a cancelled wait ends at once`() async {
        let recorder = EventRecorder()
        let task = Task { try await recorder.wait(for: "nothing", within: .seconds(50)) { _ in false } }
        task.cancel()
        await #expect(throws: EventRecorder.Missed.self) { try await task.value }
    }
}
