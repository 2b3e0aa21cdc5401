@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import Logging
internal import Testing

@Suite("Causes of failed commands and attempts", .timeLimit(.minutes(1)))
struct CauseTests {
    private static let refused = LinkspanError(.connectionLost, "the server cannot be reached (connection refused)")
    private static let sentence = "scripted://server cannot be reached (connection refused)"

    private func harness(
        _ log: LogRecorder = LogRecorder(from: .notice), options: (inout ConnectionOptions) -> Void = { _ in },
        script: @escaping @Sendable (Int) -> LinkScript
    ) throws -> Harness {
        let harness = try Harness(logger: Logger(label: "test") { _ in log }, options: options, script: script)
        try harness.connection.connect()
        return harness
    }

    @Test
    func `a request that was not sent names its time, the URL and the cause, each once`() throws {
        let harness = try self.harness { _ in .refusing(Self.refused) }
        try harness.perform(.request, "hello")
        harness.scheduler.advance(by: .seconds(30))
        let error = try #require(harness.failure("hello"))
        #expect(error.code == .timedOut)
        #expect(error.message == "'hello' was not sent within 30 s: \(Self.sentence)")
        #expect((error.cause as? LinkspanError)?.code == .connectionLost)
        #expect((error.cause as? LinkspanError)?.message == Self.sentence)
        #expect(error.description == "timedOut: \(error.message) (not sent)")
        #expect(harness.connection.status.lastError?.message == Self.sentence)
    }

    @Test
    func `a wait for the connection, and for a message, names the cause too`() async throws {
        let harness = try self.harness { _ in .refusing(Self.refused) }
        let connection = harness.connection
        let timers = harness.scheduler.pendingCount
        let up = Task { try await connection.connected(within: .seconds(5)) }
        let next = Task { try await connection.next("news", timeout: .milliseconds(5_500)) }
        await harness.scheduler.pending(atLeast: timers + 2)
        harness.scheduler.advance(by: .seconds(6))
        let late = await #expect(throws: LinkspanError.self) { try await up.value }
        #expect(late?.message == "the connection to scripted://server/ was not up within 5 s: \(Self.sentence)")
        let missing = await #expect(throws: LinkspanError.self) { try await next.value }
        #expect(missing?.message == "'news' did not arrive within 5.5 s: \(Self.sentence)")
    }

    @Test
    func `each way in which a waiting command ends says why it waited`() throws {
        let harness = try self.harness(
            options: { $0.buffer.maxAge = .seconds(2) },
            script: { number in .refusing(number < 3 ? Self.refused : .permanent) })
        try harness.perform(.send, "aged")
        harness.scheduler.advance(by: .seconds(2))
        #expect(harness.failure("aged")?.message.hasSuffix("the 2 s of buffer.maxAge: \(Self.sentence)") == true)
        try harness.perform(.deliver(orderingKey: "a"), "given up")
        harness.scheduler.advance(by: .seconds(10))
        let reason = "scripted://server: not trusted in a test"
        #expect(harness.failure("given up")?.message == "'given up' failed with the connection: \(reason)")
        let error = #expect(throws: LinkspanError.self) { try harness.perform(.send, "too late") }
        #expect(error?.message.hasSuffix("until connect() is called: \(reason)") == true)
    }

    @Test
    func `a loss after which there is no attempt is logged once, with the URL, and another loss is not`() throws {
        let log = LogRecorder(from: .notice)
        let harness = try self.harness(log) { _ in .perfect }
        harness.scheduler.settle()
        harness.peers[0].drop(.lost)
        harness.scheduler.advance(by: .seconds(10))
        #expect(log.lines.isEmpty)
        harness.peers[1].drop(LinkspanError(.refused, "the server closed the connection with code 1008"))
        harness.scheduler.settle()
        #expect(harness.connection.state == .disconnected)
        #expect(
            log.lines.map(\.message) == [
                "scripted://server closed the connection with code 1008; no further attempt is made. Check path, "
                    + "namespace and credentials."
            ])
    }

    @Test
    func `a request that is not answered over a lost link says how that was lost`() throws {
        let harness = try self.harness { _ in .perfect }
        harness.scheduler.settle()
        try harness.perform(.request, "asked")
        harness.peers.first?.drop(.lost)
        harness.scheduler.settle()
        let message = harness.failure("asked")?.message
        #expect(message == "'asked' was not answered before the connection was lost: lost in a test")
    }

    @Test
    func `before the first failure the reason is what the attempt waits for, and after a disconnect that`() throws {
        let harness = try self.harness { _ in .hanging }
        try harness.perform(.request, "opening", timeout: .seconds(1))
        harness.scheduler.advance(by: .seconds(1))
        let opening = "scripted://server: no connection yet, still waiting for the script"
        #expect(harness.failure("opening")?.message == "'opening' was not sent within 1 s: \(opening)")
        try harness.connection.disconnect()
        try harness.perform(.request, "down", timeout: .milliseconds(1_500))
        harness.scheduler.advance(by: .seconds(2))
        #expect(harness.failure("down")?.message == "'down' was not sent within 1.5 s: the app has disconnected")
        try harness.connection.reconnectNow()
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.connection.status.lastError?.message.contains("no connection within 10 s, still") == true)
    }

    @Test
    func `over a link that is up there is no other reason`() throws {
        let harness = try Harness.connected(script: { _ in .perfect })
        harness.transport.onMessage { _ in }
        try harness.perform(.request, "unanswered", timeout: .seconds(3))
        harness.scheduler.advance(by: .seconds(3))
        #expect(harness.failure("unanswered")?.message == "'unanswered' was not answered within 3 s")
        #expect(harness.failure("unanswered")?.cause == nil)
    }

    @Test
    func `the first failed attempt of each outage is logged at notice, with what to check`() throws {
        let log = LogRecorder(from: .notice)
        let harness = try self.harness(log) { [3, 6].contains($0) ? .perfect : .refusing(Self.refused) }
        harness.scheduler.advance(by: .seconds(20))
        #expect(harness.connection.state == .connected)
        let line = "\(Self.sentence); attempts go on. Check host and port, and whether the server runs."
        #expect(log.lines.map(\.message) == [line])
        #expect(log.lines.first?.level == .notice)
        harness.transport.openPeers.first?.drop()
        harness.scheduler.advance(by: .seconds(30))
        #expect(harness.peers.count == 6)
        #expect(log.lines.map(\.message) == [line, line])
    }

    @Test
    func `a final failure says that no attempt follows, and a renewal of credentials is no failure`() throws {
        let log = LogRecorder(from: .notice)
        let harness = try self.harness(log) { _ in .refusing(LinkspanError(.tlsFailed, "the server does not speak TLS"))
        }
        harness.scheduler.settle()
        #expect(
            log.lines.map(\.message) == [
                "scripted://server does not speak TLS; no further attempt is made. "
                    + "Check whether the server speaks TLS at this port, and its certificate."
            ])
        let provided = LogRecorder(from: .notice)
        let renewing = try Harness(
            credentials: .provider { _ in Credentials() }, logger: Logger(label: "test") { _ in provided },
            script: { $0 == 1 ? .refusing(LinkspanError(.credentialsRefused, "expired")) : .perfect })
        try renewing.connection.connect()
        renewing.scheduler.advance(by: .seconds(5))
        #expect(provided.lines.isEmpty)
    }

    @Test(arguments: [true, false])
    func `with failsFast, requests fail with the first attempt of a connection that was never up`(failsFast: Bool)
        throws
    {
        let harness = try self.harness(
            options: { $0.buffer.failsFast = failsFast },
            script: { $0 == 3 ? .perfect : .refusing(Self.refused) })
        try harness.perform(.request, "first")
        try harness.perform(.send, "sent")
        try harness.perform(.deliver(orderingKey: "a"), "delivered")
        var held = Command(.request, event: "held", payload: .empty, completion: harness.recorder.completion("held"))
        held.delay = .seconds(10)
        try harness.connection.perform(held)
        harness.scheduler.settle()
        #expect(harness.recorder.endedLabels == (failsFast ? ["first"] : []))
        if failsFast {
            #expect(harness.failure("first")?.code == .disconnected)
            #expect(harness.failure("first")?.certainty == .notSent)
            #expect(harness.failure("first")?.message == "'first' was not sent: \(Self.sentence)")
        }
        try harness.perform(.request, "second")
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.recorder.endedLabels.contains("second") == failsFast)
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.connection.state == .connected)
        // It has been up, so that requests wait for the server's return.
        harness.transport.openPeers.first?.drop()
        try harness.perform(.request, "third")
        harness.scheduler.advance(by: .seconds(3))
        for event in ["third", "held"] { #expect(!harness.recorder.endedLabels.contains(event)) }
    }

    @Test
    func `with failsFast, requests wait for a busy server, and for the other endpoints`() throws {
        let busy = LinkspanError(.serverUnavailable, "busy")
        let waiting = try self.harness(options: { $0.buffer.failsFast = true }, script: { _ in .refusing(busy) })
        try waiting.perform(.request, "waits")
        waiting.scheduler.advance(by: .seconds(10))
        #expect(waiting.recorder.endedLabels.isEmpty)
        let harness = try self.harness(
            options: {
                $0.buffer.failsFast = true
                $0.endpoints = Endpoints(urls: ["scripted://other"])
            }, script: { $0 == 2 ? .perfect : .refusing(Self.refused) })
        try harness.perform(.send, "sent")
        try harness.perform(.request, "asked")
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.arrived == ["sent", "asked"])
    }

    @Test(arguments: [2, 3])
    func `three attempts in a row that the server answers in another protocol are the last`(count: Int) throws {
        let foreign = LinkspanError(.protocolViolation, "the server does not speak this")
        let harness = try self.harness { number in
            number <= count ? .refusing(foreign) : number == count + 1 ? .refusing(.lost) : .perfect
        }
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.connection.state == (count == 3 ? .disconnected : .connected))
        #expect(harness.peers.count == (count == 3 ? 3 : 4))
        guard count == 3 else { return }
        #expect(harness.connection.status.lastError?.message == "scripted://server does not speak this")
        // The app may ask for another three.
        try harness.connection.connect()
        harness.scheduler.advance(by: .seconds(60))
        #expect(harness.connection.state == .connected)
    }

    @Test
    func `a description says nothing twice`() {
        let inner = LinkspanError(.connectionLost, "the server cannot be reached (no route)")
        let outer = LinkspanError(
            .timedOut, "'a' was not sent", because: inner.placed(at: Self.url), certainty: .notSent)
        #expect(
            outer.description == "timedOut: 'a' was not sent: http://server:81 cannot be reached (no route) (not sent)")
        let other = LinkspanError(.refused, "no", cause: LinkspanError(.tlsFailed, "not trusted", cause: Self.refused))
        let chain = "refused: no <- tlsFailed: not trusted <- connectionLost: \(Self.refused.message)"
        #expect(other.description == chain)
    }

    private static let url: ConnectionURL = {
        guard let url = try? ConnectionURL("http://server:81/?token=secret") else { preconditionFailure("no URL") }
        return url
    }()

    @Test
    func `a place takes the place of the server, once, and without a query`() throws {
        let path = try ConnectionURL("http://server/path")
        #expect(
            LinkspanError(.refused, "the server has gone").placed(at: path).message == "http://server/path has gone")
        let foreign = LinkspanError(.refused, "nobody is there").placed(at: Self.url)
        #expect(foreign.message == "http://server:81: nobody is there")
        #expect(foreign.placed(at: Self.url).message == foreign.message)
        let provider = LinkspanError(.credentialsUnavailable, "no token").placed(at: Self.url)
        #expect(provider.message == "no token")
    }

    @Test(arguments: [Command.Kind.request, .send, .deliver(orderingKey: "a")])
    func `a command whose completion is called is not counted as waiting`(kind: Command.Kind) throws {
        let counts = Lock<[Int]>([])
        func perform(_ harness: Harness, timeout: Duration? = nil) throws -> Command.ID {
            let connection = harness.connection
            let command = Command(kind, event: "event", payload: .empty, timeout: timeout) { _ in
                counts.withLock { $0.append(connection.status.waitingCommands) }
            }
            try connection.perform(command)
            #expect(connection.status.waitingCommands == 1)
            return command.id
        }
        let harness = try self.harness { $0 == 3 ? .perfect : .refusing(Self.refused) }
        harness.transport.onMessage { $0.reply() }
        _ = try perform(harness, timeout: .milliseconds(1))
        harness.scheduler.advance(by: .milliseconds(1))
        harness.connection.cancel(try perform(harness))
        harness.scheduler.settle()
        _ = try perform(harness)
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.connection.state == .connected)
        let failing = try self.harness { _ in .refusing(.permanent) }
        _ = try perform(failing)
        failing.scheduler.settle()
        #expect(counts.withLock(\.self) == [0, 0, 0, 0])
    }

    @Test
    func `what a retry policy sends as it gives the connection up fails with it`() throws {
        let (sender, recorder) = (Lock<PooledConnection?>(nil), EventRecorder())
        let policy = RetryPolicy { _ in
            try? sender.withLock { $0 }?.perform(
                Command(.send, event: "last", payload: .empty, completion: recorder.completion("last")))
            return nil
        }
        let harness = try Harness(options: { $0.retry = policy }, script: { _ in .refusing(.lost) })
        sender.withLock { $0 = harness.connection }
        try harness.connection.connect()
        harness.scheduler.settle()
        guard case .failure(let error)? = recorder.outcomes("last").first else {
            return #expect(Bool(false), "\(recorder.entries)")
        }
        #expect(error.code == .disconnected)
        #expect(error.certainty == .notSent)
        sender.withLock { $0 = nil }
    }
}

@Suite("Trying again now")
struct ReconnectNowTests {
    @Test
    func `the attempt that is waited for begins at once, and the waits go on growing`() throws {
        let harness = try Harness { _ in .refusing(.lost) }
        try harness.connection.connect()
        harness.scheduler.settle()
        #expect(harness.peers.count == 1)
        try harness.connection.reconnectNow()
        #expect(harness.connection.status.progress == .opening(attempt: 2))
        harness.scheduler.settle()
        #expect(harness.peers.count == 2)
        // As after any second failure: 3 s at a chance of 0.5.
        harness.scheduler.advance(by: .milliseconds(2_999))
        #expect(harness.peers.count == 2)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.peers.count == 3)
        #expect(harness.recorder.states == [.disconnected, .reconnecting])
    }

    @Test
    func `an attempt that is under way, and a link that is up, stay as they are`() throws {
        let harness = try Harness { _ in .init { $0.openingDelay = .seconds(1) } }
        try harness.connection.reconnectNow()
        harness.scheduler.settle()
        #expect(harness.connection.status.progress == .opening(attempt: 1))
        try harness.connection.reconnectNow()
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.connection.state == .connected)
        try harness.connection.reconnectNow()
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.connection.state == .connected)
        #expect(harness.peers.count == 1)
    }

    @Test
    func `it works in a listener of the state, and through a handler until that is released`() throws {
        let pool = PoolHarness()
        let handler = try pool.connect()
        try handler.reconnectNow()
        handler.release()
        #expect(throws: LinkspanError.self) { try handler.reconnectNow() }

        let harness = try Harness { $0 == 1 ? .refusing(.lost) : .perfect }
        let connection = harness.connection
        let subscription = connection.onStateChange { if $0.to == .reconnecting { try? connection.reconnectNow() } }
        try connection.connect()
        harness.scheduler.settle()
        #expect(connection.state == .connected)
        subscription.cancel()
    }

    @Test
    func `an attempt that was admitted gives that back`() throws {
        let start = Moment.now
        var machine = Attempts(
            AttemptRules(sharedOptions: Boxed(ConnectionOptions()), spacing: .zero, canRenewCredentials: false))
        _ = try machine.connect(now: start)
        _ = machine.credentialsFailed(epoch: 1, .lost, now: start, random: 0)
        machine.admit(at: start + .seconds(3))
        let outputs = try machine.reconnectNow(now: start)
        guard case .giveBackAdmission = outputs.first, case .provideCredentials(2, .retry) = outputs.last else {
            Issue.record("\(outputs)")
            return
        }
    }
}
