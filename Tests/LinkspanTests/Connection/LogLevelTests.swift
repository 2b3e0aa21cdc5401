@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@Suite("Log levels", .timeLimit(.minutes(1)))
struct LogLevelTests {
    @Test
    func `changes of state are logged at debug, a failed renewal at warning`() async throws {
        let (log, provider) = (LogRecorder(from: .trace), GatedProvider())
        let harness = try Harness(
            credentials: .provider { try await provider.credentials(for: $0) },
            logger: Logger(label: "test") { _ in log }
        ) { _ in .perfect }
        try harness.connection.connect()
        try await provider.called(1, harness.scheduler)
        provider.answer(1, token: "1", validFor: .seconds(1_000))
        try await eventually("the link", harness.scheduler) { harness.connection.state == .connected }
        harness.scheduler.advance(by: .seconds(775) - harness.scheduler.elapsed)
        try await provider.called(2, harness.scheduler)
        provider.fail(2)
        try await eventually("the second line", harness.scheduler) { log.lines.count == 2 }
        #expect(
            log.lines.map { "\($0.level) \($0.message)" } == [
                "debug Connection changed state", "warning Credentials not renewed",
            ])
    }
}
