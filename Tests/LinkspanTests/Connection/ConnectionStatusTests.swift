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
                == "The connection to scripted://server/ has not been started. "
                + "connect() starts an attempt.")
    }

    @Test
    func `while it waits for the next attempt, with what waits meanwhile`() throws {
        let harness = try Harness { _ in .refusing(.lost) }
        try harness.connection.connect()
        try harness.perform(.send, "hello")
        harness.scheduler.advance(by: .milliseconds(400))
        let error = try #require(harness.connection.status.lastError)
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and is being restored. "
                + "The reason: \(error.message) (connectionLost). Attempt 2 begins in 0.6 s. 1 command waits.")
    }

    @Test
    func `while it waits for longer than can be counted`() throws {
        var status = ConnectionStatus(url: try ConnectionURL("scripted://server/"), state: .reconnecting)
        status.progress = .waiting(until: status.time.advanced(by: .seconds(Int64.max)), attempt: 2)
        #expect(status.sentences.last == "Attempt 2 begins in 100000000000000.0 s.")
        status.progress = .waiting(until: status.time.advanced(by: .milliseconds(123_449)), attempt: 2)
        #expect(status.sentences.last == "Attempt 2 begins in 123.4 s.")
    }

    @Test
    func `when trying again would not help`() throws {
        let harness = try Harness { _ in .refusing(LinkspanError(.tlsFailed, "the certificate has expired")) }
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and is not retried. "
                + "The reason: scripted://server: the certificate has expired (tlsFailed). "
                + "Another attempt with the same settings cannot succeed; connect() makes one.")
    }

    @Test
    func `while it is up, after a disconnect by request, and at the end`() throws {
        let harness = try Harness.connected()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is up. The server was last heard 0.0 s ago.")
        try harness.connection.disconnect()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and is not retried. The app disconnected it. "
                + "connect() starts an attempt.")
        try harness.connection.release()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ was released and cannot be used again.")
    }

    @Test
    func `the server's session, whether it was resumed, and the carrier in use are those of the open link`() throws {
        let harness = try Harness { _ in .perfect }
        #expect(harness.connection.status.link == nil)
        try harness.enter(.connected)
        var info = try #require(harness.connection.status.link)
        let adapter = try harness.connection.ask { $0.makeAdapter(epoch: 1) }
        info.sessionID = "session"
        info.isContinuous = true
        info.facts["carrier"] = "websocket"
        harness.scheduler.executor.execute { [info] in adapter.receive([.changed(info)]) }
        harness.scheduler.settle()
        #expect(harness.connection.status.link == info)
        #expect(harness.connection.state == .connected)
        for peer in harness.transport.openPeers { peer.drop() }
        harness.scheduler.settle()
        #expect(harness.connection.status.link == nil)
        harness.scheduler.executor.execute { [info] in adapter.receive([.changed(info)]) }
        harness.scheduler.settle()
        #expect(harness.connection.status.link == nil, "late news of a former link")
    }

    @Test
    func `its history is bounded and tells the newest changes`() throws {
        let harness = try Harness { _ in .dropping(after: .milliseconds(100)) }
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(600))
        let history = harness.connection.status.history
        #expect(history.count == ConnectionStatus.historyLimit)
        #expect(history.last?.sequence == harness.recorder.changes.last?.sequence)
        #expect(harness.connection.status.description.contains("connected -> disconnected: connectionLost"))
    }

    @Test
    func `after a failure, a disconnect by request is what it tells`() throws {
        let harness = try Harness { _ in .refusing(.lost) }
        try harness.connection.connect()
        harness.scheduler.settle()
        try harness.connection.disconnect()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and is not retried. The app disconnected it. "
                + "connect() starts an attempt.")
        try harness.connection.connect()
        #expect(
            harness.connection.explain().contains("The reason: scripted://server: lost in a test (connectionLost)."))
    }

    @Test
    func `when it was left by request, and when it is tried again by request`() throws {
        let harness = try Harness.connected()
        try harness.connection.disconnect()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and is not retried. The app disconnected it. "
                + "connect() starts an attempt.")
        try harness.connection.connect()
        #expect(
            harness.connection.explain()
                == "The connection to scripted://server/ is down and is being restored. "
                + "The app called connect(). Attempt 1 is under way.")
    }

    /// Every state with every progress that it can have.
    @Test(
        arguments: [
            (ConnectionState.created, ConnectionProgress.idle, "connect() starts an attempt."),
            (.created, .obtainingCredentials(attempt: 1), "Attempt 1 waits for credentials."),
            (.created, .opening(attempt: 1), "Attempt 1 is under way."),
            (.connected, .open, "is up."),
            (.disconnected, .idle, "connect() starts an attempt."),
            (.reconnecting, .obtainingCredentials(attempt: 2), "Attempt 2 waits for credentials."),
            (.reconnecting, .opening(attempt: 2), "Attempt 2 is under way."),
            (.released, .idle, "cannot be used again."),
        ])
    func `it ends with what happens next`(
        state: ConnectionState, progress: ConnectionProgress, end: String
    ) throws {
        var status = ConnectionStatus(
            url: try ConnectionURL("scripted://server/"), state: state, progress: progress)
        #expect(status.sentences.joined(separator: " ").hasSuffix(end))
        status.waitingCommands = 2
        let waiting = status.sentences.joined(separator: " ")
        #expect(waiting.hasSuffix(state == .released ? end : "2 commands wait."))
    }
}

@Suite("The report", .timeLimit(.minutes(1)))
struct ReportTests {
    @Test
    func `the report has no payload, credential or query, and no line can be forged`() async throws {
        let secret = "canary-4711"
        let scheduler = VirtualScheduler()
        let transport = ScriptedTransport(scheduler: scheduler) { number in
            number == 2 ? .refusing(LinkspanError(.refused, "no\n  0.0 s ago: forged\u{202E}")) : .perfect
        }
        let configuration = try ConnectionBuilder("scripted://server/path?token=\(secret)").transport(transport)
            .credentials(.provider { _ in try Credentials(auth: ["token": secret]) })
            .build()
        let manager = ConnectionManager(
            options: .init {
                $0.scheduler = scheduler
                $0.random = { 0.5 }
            })
        let handler = try manager.connect(configuration)
        await scheduler.run { handler.state == .connected }
        try #require(handler.state == .connected)
        try handler.send("say", secret)
        transport.peers.first?.emit("said\nforged", .json("\"\(secret)\""))
        transport.peers.first?.emit(String(repeating: "x", count: 100_000), .json("\"\(secret)\""))
        scheduler.settle()
        transport.peers.first?.drop()
        scheduler.settle()
        let report = handler.status.description
        #expect(!report.contains(secret))
        let isPlain = report.split(separator: "\n").dropFirst(2).allSatisfy { $0.hasPrefix("  ") || $0.hasSuffix(":") }
        #expect(isPlain && report.utf8.count < 4_000)
        #expect(!report.contains("\u{202E}"))
    }
}
