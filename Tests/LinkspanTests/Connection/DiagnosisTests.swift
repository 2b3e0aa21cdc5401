@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("A connection explains itself")
struct DiagnosisTests {
    @Test
    func `before it is asked to connect`() throws {
        let harness = try Harness()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ has not been asked to connect. "
                + "It will be tried when connect() is called.")
    }

    @Test
    func `while it waits for the next attempt, with what waits meanwhile`() throws {
        let harness = try Harness { _ in .refusing(.lost) }
        try harness.connection.connect()
        try harness.perform(.send, "hello")
        harness.scheduler.advance(by: .milliseconds(400))
        let error = try #require(harness.connection.diagnosis.lastError)
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and being brought back. "
                + "The reason: \(error.message) (connectionLost). Attempt 2 begins in 0.6 s. 1 command waits.")
    }

    @Test
    func `when trying again would not help`() throws {
        let harness = try Harness { _ in .refusing(LinkspanError(.tlsFailed, "the certificate has expired")) }
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and stays so. "
                + "The reason: the certificate has expired (tlsFailed). "
                + "Trying again with the same settings would not help; connect() tries all the same.")
    }

    @Test
    func `while it is up, after a disconnect by request, and at the end`() throws {
        let harness = try Harness.connected()
        #expect(harness.connection.explain() == "The connection to scripted://server/ is up.")
        try harness.connection.disconnect()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and stays so. The app asked for it. "
                + "It will be tried when connect() is called.")
        try harness.connection.release()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ was released and cannot be used any more.")
    }

    @Test
    func `its history is bounded and tells the newest changes`() throws {
        let harness = try Harness { _ in .dropping(after: .milliseconds(100)) }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(600))
        let history = harness.connection.diagnosis.history
        #expect(history.count == ConnectionDiagnosis.historyLimit)
        #expect(history.last?.sequence == harness.recorder.changes.last?.sequence)
        #expect(harness.connection.diagnosis.description.contains("connected -> disconnected: connectionLost"))
    }
}
