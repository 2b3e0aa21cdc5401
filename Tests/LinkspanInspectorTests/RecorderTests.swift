internal import LinkspanRuntime
internal import TestSupport
internal import Testing

@testable internal import Linkspan
@testable internal import LinkspanInspector
@testable internal import LinkspanLifecycle
@testable internal import LinkspanMessaging

@Suite
struct RecorderTests {
    private let start = ContinuousClock.now

    private func status(
        _ state: ConnectionState = .connected, _ progress: ConnectionProgress = .open
    ) throws -> ConnectionStatus {
        ConnectionStatus(url: try ConnectionURL("ws://example/"), state: state, progress: progress)
    }

    private func recorder(
        connections ids: ClosedRange<UInt64>, limits: InspectorRecorder.Limits = .init()
    ) throws -> InspectorRecorder {
        var recorder = InspectorRecorder(limits: limits, now: self.start)
        for id in ids { recorder.note(id, try self.status(), explanation: "up", holders: 1, now: self.start) }
        return recorder
    }

    private func reading(oldest: Command.ID? = nil, inFlight: Int = 0) -> ConnectionReading {
        ConnectionReading(
            transport: "websocket", inFlight: inFlight, oldest: oldest, nextRenewal: nil, isReadingPaused: false,
            turn: .zero)
    }

    private func services(_ waiting: [String: Int]) -> [InspectedService] {
        waiting.sorted { $0.key < $1.key }.map { path, waiting in
            InspectedService(
                path: path, phase: 0, priority: 0, state: .ready, origin: "code",
                mailbox: InspectedMailbox(waiting: waiting))
        }
    }

    private func frame(_ event: String) -> ConnectionMeter.Frame {
        ConnectionMeter.Frame(kind: .received, event: event, bytes: 10, time: self.start, excerpt: [])
    }

    @Test func `a batch has what changed since the last one, and nothing twice`() throws {
        var recorder = try self.recorder(connections: 1...3)
        var cursor = PageCursor()
        #expect(recorder.batch(for: &cursor, now: self.start).connections.map(\.id) == [1, 2, 3])
        let rest = recorder.batch(for: &cursor, now: self.start)
        #expect(rest.connections.isEmpty && rest.gone.isEmpty && rest.services.isEmpty && rest.goneServices.isEmpty)
        #expect(rest.events.isEmpty && rest.frames.isEmpty && rest.points.isEmpty && rest.settings == nil)
        recorder.note(2, try self.status(.reconnecting), explanation: "down", holders: 1, now: self.start)
        #expect(recorder.batch(for: &cursor, now: self.start).connections.map(\.snapshot?.state) == ["reconnecting"])
    }

    @Test func `a page gets the settings, and every event once and in order`() throws {
        var limits = InspectorRecorder.Limits()
        limits.batch = 4
        var (recorder, cursor) = (InspectorRecorder(limits: limits, now: self.start), PageCursor())
        recorder.note([], transports: ["websocket"])
        #expect(recorder.batch(for: &cursor, now: self.start).transports == ["websocket"])
        (recorder, cursor) = (InspectorRecorder(limits: limits, now: self.start), PageCursor())
        let texts = (1...10).map { "event \($0)" }
        for text in texts { recorder.note(text, kind: "app", at: self.start) }
        #expect((0..<4).flatMap { _ in recorder.batch(for: &cursor, now: self.start).events.map(\.text) } == texts)
    }

    @Test func `another page begins with everything`() throws {
        let recorder = try self.recorder(connections: 1...3)
        var (one, two) = (PageCursor(), PageCursor())
        _ = recorder.batch(for: &one, now: self.start)
        #expect(recorder.batch(for: &two, now: self.start).connections.count == 3)
    }

    @Test func `a batch is bounded, and rows that change all the time keep no other waiting`() throws {
        var limits = InspectorRecorder.Limits()
        limits.batch = 10
        var recorder = try self.recorder(connections: 1...45, limits: limits)
        var cursor = PageCursor()
        var seen: Set<UInt64> = []
        for round in 0..<5 {
            let batch = recorder.batch(for: &cursor, now: self.start)
            #expect(batch.connections.count <= 10)
            seen.formUnion(batch.connections.map(\.id))
            for id in UInt64(1)...45 {
                recorder.note(id, try self.status(), explanation: "up", holders: round + 2, now: self.start)
            }
        }
        #expect(seen == Set(1...45))
    }

    @Test func `the chosen connection comes with each batch`() throws {
        let recorder = try self.recorder(connections: 1...3)
        var cursor = PageCursor()
        cursor.selected = 2
        _ = recorder.batch(for: &cursor, now: self.start)
        #expect(recorder.batch(for: &cursor, now: self.start).connections.map(\.id) == [2])
    }

    @Test func `a connection that is gone is told once, and its messages stay in the totals`() throws {
        var recorder = try self.recorder(connections: 1...2)
        var counts = ConnectionMeter.Counts()
        counts.received = 7
        recorder.note(1, self.reading(), counts, [], now: self.start)
        var cursor = PageCursor()
        _ = recorder.batch(for: &cursor, now: self.start)
        recorder.keep([2], of: 1)
        let batch = recorder.batch(for: &cursor, now: self.start)
        #expect(batch.gone == [1])
        #expect(batch.totals.counts.received == 7)
        #expect(recorder.batch(for: &cursor, now: self.start).gone.isEmpty)
    }

    @Test func `a point of the charts adds up what all connections have and had`() throws {
        var recorder = try self.recorder(connections: 1...3)
        recorder.note(3, try self.status(.reconnecting), explanation: "down", holders: 1, now: self.start)
        var counts = ConnectionMeter.Counts()
        for (id, second) in [(1, 1), (2, 1), (1, 2)] as [(UInt64, Int)] {
            (counts.sent, counts.received) = (UInt64(second), UInt64(10 * second))
            recorder.note(id, self.reading(inFlight: Int(id)), counts, [], now: self.start)
            if id == 2 { recorder.closePoint(memory: 5, mark: .next(), now: self.start + .seconds(1)) }
        }
        recorder.closePoint(memory: 6, mark: .next(), now: self.start + .seconds(2))
        let points = recorder.chart.points
        #expect(points.map(\.time) == [1_000, 2_000] && points.map(\.memory) == [5, 6])
        #expect(points.map(\.sent) == [2, 1] && points.map(\.received) == [20, 10])
        #expect(points.map(\.connections) == [3, 3] && points.map(\.connected) == [2, 2])
        #expect(points.map(\.inFlight) == [3, 3])
    }

    @Test func `what link and store say of themselves is shown, and as much is kept as is documented`() throws {
        var (recorder, status) = (try self.recorder(connections: 1...1), try self.status())
        status.store = "waits for room"
        status.link = LinkInfo(facts: ["carrier": "polling"])
        recorder.note(1, status, explanation: "up", holders: 1, now: self.start)
        #expect(recorder.connectionRows.map(\.snapshot?.outbox) == ["waits for room"])
        #expect(recorder.connectionRows.map(\.snapshot?.carrier) == ["polling"])
        status.store = String(repeating: "x", count: 600)
        recorder.note(1, status, explanation: "up", holders: 1, now: self.start)
        #expect(recorder.connectionRows.first?.snapshot?.outbox?.count == 501)
        let limits = InspectorRecorder.Limits()
        #expect([limits.connections, limits.services, limits.events] == [4_096, 1_024, 2_048])
        #expect([limits.frames, limits.points, limits.batch] == [512, 3_600, 200])
    }

    @Test func `connections beyond the limit are counted and not shown`() throws {
        var limits = InspectorRecorder.Limits()
        limits.connections = 5
        var recorder = try self.recorder(connections: 1...8, limits: limits)
        recorder.keep(Set(1...8), of: 8)
        #expect(recorder.connectionRows.count == 5)
        #expect(recorder.everything(now: self.start).totals.hidden == 3)
        recorder.keep(Set(1...5), of: 5)
        #expect(recorder.everything(now: self.start).totals.hidden == 0)
    }

    @Test func `events, frames and points are bounded, and the oldest go`() throws {
        var limits = InspectorRecorder.Limits()
        (limits.events, limits.frames, limits.points) = (10, 10, 10)
        var recorder = try self.recorder(connections: 1...1, limits: limits)
        for number in 0..<100 {
            recorder.note("event \(number)", kind: "app", at: self.start)
            recorder.note(1, self.reading(), nil, [self.frame("f\(number)")], now: self.start)
            recorder.closePoint(memory: number, mark: .mark, now: self.start + .seconds(number))
        }
        let all = recorder.everything(now: self.start)
        #expect(all.events.map(\.text) == (90..<100).map { "event \($0)" })
        #expect(all.frames.map(\.event) == (90..<100).map { "f\($0)" })
        #expect(all.points.map(\.memory) == Array(90..<100))
        #expect(all.totals.sampled == 100)
    }

    @Test func `a point of the chart has the messages of its second, and a gap where nothing is connected`() throws {
        var recorder = try self.recorder(connections: 1...1)
        var counts = ConnectionMeter.Counts()
        (counts.sent, counts.sentBytes) = (10, 1_000)
        var up = try self.status()
        var link = LinkInfo()
        link.roundTrip = .milliseconds(12)
        up.link = link
        recorder.note(1, up, explanation: "", holders: 1, now: self.start)
        recorder.note(1, self.reading(), counts, [], now: self.start)
        recorder.closePoint(memory: 0, mark: .mark, now: self.start)
        counts.sent = 25
        recorder.note(1, self.reading(), counts, [], now: self.start)
        recorder.note(1, try self.status(.reconnecting), explanation: "", holders: 1, now: self.start)
        recorder.closePoint(memory: 0, mark: .mark, now: self.start + .seconds(1))
        let points = recorder.everything(now: self.start).points
        #expect(points.map(\.sent) == [10, 15])
        #expect(points.map(\.roundTrip) == [12, nil])
        #expect(points.map(\.connected) == [1, 0])
    }

    @Test func `a point of the chart has the longest time to a sampled reply, and none when none was sampled`() throws {
        var recorder = try self.recorder(connections: 1...2)
        let frames = [3, 7, 5].map { time in
            ConnectionMeter.Frame(
                kind: .answered(after: .milliseconds(time)), event: "e", bytes: 10, time: self.start, excerpt: [])
        }
        recorder.note(1, self.reading(), nil, [self.frame("e")] + frames, now: self.start)
        recorder.note(2, self.reading(), nil, [frames[0]], now: self.start)
        #expect(
            recorder.everything(now: self.start).connections.map(\.report.reply) == [7, 3])
        recorder.note(1, self.reading(), nil, [self.frame("e")], now: self.start)
        recorder.closePoint(memory: 0, mark: .mark, now: self.start)
        recorder.closePoint(memory: 0, mark: .mark, now: self.start + .seconds(1))
        let all = recorder.everything(now: self.start)
        #expect(all.points.map(\.reply) == [7, nil])
        #expect(all.connections.map(\.report.reply) == [nil, 3])
    }

    @Test func `the age of the oldest command comes from the time of its number`() throws {
        var recorder = try self.recorder(connections: 1...1)
        recorder.closePoint(memory: 0, mark: .mark, now: self.start)
        let command = Command.ID.mark
        recorder.closePoint(memory: 0, mark: .mark, now: self.start + .seconds(1))
        recorder.note(1, self.reading(oldest: command), nil, [], now: self.start + .seconds(60))
        let row = try #require(recorder.connectionRows.first)
        #expect(row.report.oldest == 1_000)
    }

    @Test func `the age of the oldest command begins anew with the next command, and never grows for the same one`()
        throws
    {
        var recorder = try self.recorder(connections: 1...1)
        let oldest = { [start] (recorder: inout InspectorRecorder, command: Command.ID, seconds: Int) in
            recorder.note(1, self.reading(oldest: command), nil, [], now: start + .seconds(seconds))
            return recorder.connectionRows.first?.report.oldest
        }
        let first = Command.ID.next()
        #expect(oldest(&recorder, first, 1) == 1_000)
        #expect(oldest(&recorder, first, 2) == 1_000)
        #expect(oldest(&recorder, .next(), 3) == 3_000)
    }

    @Test func `a number that is older than every mark has the time of the oldest mark`() throws {
        var limits = InspectorRecorder.Limits()
        limits.points = 2
        var recorder = try self.recorder(connections: 1...1, limits: limits)
        let command = Command.ID.next()
        for second in 1...3 {
            recorder.closePoint(memory: 0, mark: .mark, now: self.start + .seconds(second))
        }
        recorder.note(1, self.reading(oldest: command), nil, [], now: self.start + .seconds(60))
        #expect(recorder.connectionRows.first?.report.oldest == 2_000)
    }

    @Test(arguments: [UInt64(1), 2, 3])
    func `a point of the chart has the greatest value of all connections, whichever has it`(id: UInt64) throws {
        var recorder = try self.recorder(connections: 1...3)
        for other in UInt64(1)...3 {
            var (status, link) = (try self.status(), LinkInfo())
            link.roundTrip = .milliseconds(other == id ? 9 : 4)
            (status.link, status.storedDeliveries) = (link, other == id ? 7 : 2)
            recorder.note(other, status, explanation: "", holders: 1, now: self.start)
            var reading = self.reading(oldest: .next())
            reading.turn = .milliseconds(other == id ? 5 : 1)
            recorder.note(other, reading, nil, [], now: self.start + .seconds(other == id ? 10 : 40))
        }
        recorder.closePoint(memory: 0, mark: .mark, now: self.start + .seconds(60))
        let points = recorder.chart.points
        #expect(points.map(\.oldest) == [50_000] && points.map(\.turn) == [5])
        #expect(points.map(\.roundTrip) == [9] && points.map(\.outbox) == [7])
    }

    @Test func `a connection that has not changed comes again after five seconds, and not before`() throws {
        var (recorder, cursor) = (try self.recorder(connections: 1...1), PageCursor())
        let status = try self.status()
        let counts = [0, 4_999, 5_000, 9_999, 10_000].map { milliseconds in
            let now = self.start + .milliseconds(milliseconds)
            recorder.note(1, status, explanation: "up", holders: 1, now: now)
            return recorder.batch(for: &cursor, now: now).connections.count
        }
        #expect(counts == [1, 0, 1, 0, 1])
    }

    @Test func `services come when they have changed, and their end once; the settings come with each change`() throws {
        var (recorder, cursor) = (try self.recorder(connections: 1...1), PageCursor())
        let batches = [["a": 0, "b": 0], ["a": 0, "b": 0], ["a": 1, "b": 0], ["b": 0], ["b": 0]].map { waiting in
            recorder.note(self.services(waiting), now: self.start)
            recorder.note([], transports: waiting.keys.sorted())
            return recorder.batch(for: &cursor, now: self.start)
        }
        #expect(batches.map { $0.services.map(\.service.path) } == [["a", "b"], [], ["a"], [], []])
        #expect(batches.map(\.goneServices) == [[], [], [], ["a"], []])
        #expect(batches.map(\.transports) == [["a", "b"], ["a", "b"], ["a", "b"], ["b"], ["b"]])
        #expect(recorder.batch(for: &cursor, now: self.start).transports == nil)
    }

    @Test func `the faults of as many services are counted as are shown`() throws {
        var limits = InspectorRecorder.Limits()
        limits.services = 1
        var recorder = try self.recorder(connections: 1...1, limits: limits)
        for path in ["a", "b", "a"] { recorder.note(FaultEvent(path: path, code: .handlerFailed, message: "threw")) }
        let faults = ["a", "b"].map { path in
            recorder.note(self.services([path: 0]), now: self.start)
            return recorder.serviceRows.map(\.faults)
        }
        #expect(faults == [[2], [0]])
    }

    @Test func `all sampled messages are counted, also those that come together`() throws {
        var recorder = try self.recorder(connections: 1...1)
        recorder.note(1, self.reading(), nil, [self.frame("one"), self.frame("two")], now: self.start)
        #expect(recorder.sampled == 2)
    }

    @Test func `new credentials leave the time of the next renewal until the connection reports another`() throws {
        var (recorder, reading) = (try self.recorder(connections: 1...1), self.reading())
        reading.nextRenewal = self.start + .seconds(480)
        recorder.note(1, reading, nil, [], now: self.start)
        let event = ConnectionEvent(connection: 1, endpoint: "", kind: .credentialsObtained(validFor: .seconds(600)))
        recorder.note(Stamped(event, seq: 1, time: self.start))
        #expect(recorder.connectionRows.first?.credentials.nextRenewal == 480_000)
    }

    @Test func `credentials have an age and a renewal, and no content`() throws {
        var recorder = try self.recorder(connections: 1...1)
        let event = ConnectionEvent(
            connection: 1, endpoint: "", kind: .credentialsObtained(validFor: .seconds(600)))
        recorder.note(Stamped(event, seq: 1, time: self.start))
        var reading = self.reading()
        reading.nextRenewal = self.start + .seconds(480)
        recorder.note(1, reading, nil, [], now: self.start)
        let facts = try #require(recorder.connectionRows.first).credentials
        #expect(facts.obtained == 0)
        #expect(facts.expiry == 600_000)
        #expect(facts.nextRenewal == 480_000)
    }

    @Test func `slow calls and faults are counted by service`() throws {
        var recorder = try self.recorder(connections: 1...1)
        recorder.note(FaultEvent(path: "services.slow", code: .limitHit, message: "late"))
        recorder.note(FaultEvent(path: "services.slow", code: .handlerFailed, message: "threw"))
        let service = InspectedService(
            path: "services.slow", phase: 0, priority: 7, state: .ready, origin: "code", mailbox: InspectedMailbox())
        recorder.note([service], now: self.start)
        let row = try #require(recorder.serviceRows.first)
        #expect(row.slow == 1)
        #expect(row.faults == 2)
        let text = try #require(try Payload(row)[0])
        #expect(text["priority"]?.int == 7 && text["path"]?.string == "services.slow" && text["slow"]?.int == 1)
    }

    @Test func `the chart of the outbox has the fullest one, and none without an outbox`() throws {
        var recorder = try self.recorder(connections: 1...1)
        recorder.closePoint(memory: 0, mark: .mark, now: self.start)
        for (id, count) in [(UInt64(1), 0), (2, 5)] {
            var status = try self.status()
            status.storedDeliveries = count
            recorder.note(id, status, explanation: "", holders: 1, now: self.start)
            recorder.closePoint(memory: 0, mark: .mark, now: self.start + .seconds(count))
        }
        #expect(recorder.everything(now: self.start).points.map(\.outbox) == [nil, 0, 5])
    }

    @Test func `an hour of 1,000 connections and 100 services fits into 16 MiB, and each batch into 256 KiB`() throws {
        let limits = InspectorRecorder.Limits()
        let before = ProcessMemory.resident
        var recorder = try self.recorder(connections: 1...1_000)
        var cursor = PageCursor()
        for second in 0..<limits.points + 10 {
            let now = self.start + .seconds(second)
            let first = UInt64(second * 10 % 1_000) + 1
            for id in first..<first + 10 {
                recorder.note(id, try self.status(), explanation: "The connection is up.", holders: second, now: now)
                recorder.note(id, self.reading(), nil, [self.frame("message")], now: now)
            }
            recorder.note("connection \(first) connected", kind: "connected", connection: first, at: now)
            recorder.closePoint(memory: 1, mark: .mark, now: now)
            guard second % 100 == 0 else { continue }
            recorder.note(
                (0..<100).map { number in
                    InspectedService(
                        path: "services.s\(number)", phase: 0, priority: 0, state: .ready, origin: "code",
                        mailbox: InspectedMailbox(waiting: second))
                }, now: now)
            let batch = recorder.batch(for: &cursor, now: now)
            #expect(batch.connections.count <= limits.batch)
            #expect(batch.services.count <= 100)
            #expect(JSONText.of(batch).count < 256 * 1024)
        }
        #expect(Array(recorder.events).count == limits.events)
        #expect(Array(recorder.frames).count == limits.frames)
        #expect(Array(recorder.chart.points).count == limits.points)
        #expect(ProcessMemory.resident - before < (AddressSanitizer.isOn ? 256 : 16) << 20)
    }
}
