@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

private struct Question: Decodable, Sendable {
    var number: Int
}

private struct Report: Encodable, Sendable {
    var square: Int
}

private struct Refusal: Error, Encodable {
    var reason: String
}

private struct Secret: Error {}

extension Event where Value == Question, Reply == Report {
    fileprivate static var square: Self { Event("square") }
}

@Suite("Answering", .timeLimit(.minutes(1)))
struct AnsweringTests {
    /// What the server hears of an asynchronous answer to `{"number":4}`.
    private func answer(
        to question: String = #"{"number":4}"#, _ handler: @escaping @Sendable (Question) async throws -> Report
    ) async throws -> String {
        let harness = try Harness.connected()
        try harness.connection.answer(.square) { try await handler($0) }
        harness.peers.first?.ask("square", .json(question)) { harness.recorder.note($0.text) }
        await harness.scheduler.run { !harness.recorder.notes.isEmpty }
        return try #require(harness.recorder.notes.first)
    }

    @Test
    func `an asynchronous answer reaches the server, for types of one direction`() async throws {
        let answer = try await self.answer { question in
            await Task.yield()
            return Report(square: question.number * question.number)
        }
        #expect(answer == #"{"square":16}"#)
    }

    @Test
    func `a handler without waits and errors answers at once, on the connection's executor`() throws {
        let harness = try Harness.connected()
        try harness.connection.answer(.square) { Report(square: $0.number * $0.number) }
        harness.peers.first?.ask("square", .json(#"{"number":3}"#)) { harness.recorder.note($0.text) }
        harness.peers.first?.ask("square", .json(#""three""#)) {
            harness.recorder.note($0[0]?["error"]?["code"]?.string ?? "")
        }
        harness.scheduler.settle()
        #expect(harness.recorder.notes == [#"{"square":9}"#, "decodingFailed"])
    }

    @Test
    func `a flood of questions is answered with an error beyond a thousand`() async throws {
        let harness = try Harness.connected()
        let gate = Promise<Void>()
        try harness.connection.answer(.square) { question -> Report in
            await gate.shared()
            return Report(square: question.number)
        }
        for _ in 0..<1_030 {
            harness.peers.first?.ask("square", .json(#"{"number":1}"#)) {
                harness.recorder.note($0[0]?["error"]?["code"]?.string ?? "answered")
            }
        }
        harness.scheduler.settle()
        #expect(harness.recorder.notes == Array(repeating: "bufferFull", count: 6))
        gate.fulfill()
        await harness.scheduler.run { harness.recorder.notes.count == 1_030 }
        #expect(harness.recorder.notes.filter { $0 == "answered" }.count == 1_024)
    }

    @Test
    func `an error of the SDK is told with code and message`() async throws {
        let answer = try await self.answer { _ in
            throw LinkspanError(.init(rawValue: "unknownDevice"), "there is no device 4")
        }
        #expect(answer == #"{"error":{"code":"unknownDevice","message":"there is no device 4"}}"#)
    }

    @Test
    func `an encodable error is told as its type writes it`() async throws {
        #expect(try await self.answer { _ in throw Refusal(reason: "busy") } == #"{"error":{"reason":"busy"}}"#)
    }

    @Test
    func `of other errors nothing is told but that there was one`() async throws {
        let answer = try await self.answer { _ in throw Secret() }
        #expect(answer == #"{"error":{"code":"failed","message":"the question could not be answered"}}"#)
    }

    @Test
    func `a question of another shape is answered with an error`() async throws {
        let answer = try await self.answer(to: #""four""#) { _ in Report(square: 0) }
        #expect(answer.hasPrefix(#"{"error":{"code":"decodingFailed""#))
    }

    @Test
    @MainActor
    func `in code of the main actor the handler runs there`() async throws {
        let harness = try Harness.connected()
        var asked: [Int] = []
        try harness.connection.answer(.square) { question in
            MainActor.assertIsolated()
            asked.append(question.number)
            await Task.yield()
            return Report(square: asked.count)
        }
        harness.peers.first?.ask("square", .json(#"{"number":7}"#)) { harness.recorder.note($0.text) }
        await harness.scheduler.run { !harness.recorder.notes.isEmpty }
        #expect(harness.recorder.notes == [#"{"square":1}"#])
        #expect(asked == [7])
    }
}

extension Promise where Value == Void {
    /// Waits together with others.
    fileprivate func shared() async { await withCheckedContinuation { go in self.whenFulfilled { go.resume() } } }
}
