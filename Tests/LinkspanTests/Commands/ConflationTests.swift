@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("Sends that replace one that waits", .timeLimit(.minutes(1)))
struct ConflationTests {
    /// The arguments that the server got, with their events.
    private func arrived(_ harness: Harness) -> [String] {
        harness.transport.received.map { "\($0.event) \($0.payload.text)" }
    }

    @Test
    func `only the latest of a key is sent, in the place of the first`() throws {
        let harness = try Harness()
        try harness.connection.send("cursor", 1, replacing: "cursor")
        try harness.connection.send("say", "hello")
        try harness.connection.send("cursor", 2, replacing: "cursor")
        try harness.connection.send("scroll", 7, replacing: "scroll")
        try harness.connection.send("cursor", 3, replacing: "cursor")
        #expect(harness.connection.status.waitingCommands == 3)
        try harness.enter(.connected)
        #expect(self.arrived(harness) == ["cursor 3", "say \"hello\"", "scroll 7"])
    }

    @Test
    func `while the link is open each is sent`() throws {
        let harness = try Harness.connected()
        for number in 1...3 { try harness.connection.send("cursor", number, replacing: "cursor") }
        harness.scheduler.settle()
        #expect(self.arrived(harness) == ["cursor 1", "cursor 2", "cursor 3"])
    }

    private func savingData(_ script: LinkScript = .perfect) throws -> Harness {
        let harness = try Harness.connected(script: { _ in script })
        harness.scheduler.advance(by: .seconds(1))
        harness.connection.core.post { $0.sender.saveData(true) }
        harness.scheduler.settle()
        return harness
    }

    @Test
    func `while data is saved, only the latest of a key within a second is sent`() throws {
        let harness = try self.savingData()
        for number in 1...3 { try harness.connection.send("cursor", number, replacing: "cursor") }
        try harness.connection.send("scroll", 7, replacing: "scroll")
        harness.scheduler.advance(by: .milliseconds(999))
        #expect(harness.arrived.isEmpty)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(self.arrived(harness) == ["cursor 3", "scroll 7"])
        try harness.connection.send("cursor", 4, replacing: "cursor")
        harness.scheduler.settle()
        #expect(harness.arrived.count == 2)
        harness.connection.core.post { $0.sender.saveData(false) }
        harness.scheduler.advance(by: .seconds(1))
        try harness.connection.send("cursor", 5, replacing: "cursor")
        harness.scheduler.settle()
        #expect(self.arrived(harness).suffix(2) == ["cursor 4", "cursor 5"])
    }

    @Test(arguments: [Command.Kind.send, .request, .deliver(orderingKey: "a")])
    func `while data is saved, the next message takes along what waits to be replaced`(kind: Command.Kind) throws {
        let harness = try self.savingData()
        try harness.connection.send("cursor", 1, replacing: "cursor")
        try harness.connection.send("blink", volatile: true)
        try harness.perform(kind, "first")
        try harness.perform(kind, "second")
        harness.scheduler.settle()
        #expect(harness.arrived == ["blink", "cursor", "first", "second"])
        #expect(harness.isSuccess("second"))
        harness.scheduler.advance(by: .seconds(2))
        #expect(harness.arrived.count == 4)
    }

    @Test
    func `while data is saved, the reply to a delivery lets the next one take it along`() throws {
        let harness = try self.savingData(.delaying(by: .milliseconds(20)))
        for event in ["first", "second"] { try harness.perform(.deliver(orderingKey: "a"), event) }
        harness.scheduler.advance(by: .milliseconds(10))
        try harness.connection.send("cursor", 1, replacing: "cursor")
        harness.scheduler.advance(by: .milliseconds(20))
        #expect(harness.arrived == ["first"])
        harness.scheduler.advance(by: .milliseconds(40))
        #expect(harness.arrived == ["first", "cursor", "second"])
    }

    @Test
    func `what waits to be replaced when the link is lost is sent over the next one`() throws {
        let harness = try self.savingData()
        try harness.connection.send("cursor", 1, replacing: "cursor")
        harness.scheduler.settle()
        harness.peers.last?.drop()
        harness.scheduler.advance(by: .milliseconds(10))
        #expect(harness.connection.state == .reconnecting)
        try harness.connection.send("cursor", 2, replacing: "cursor")
        harness.scheduler.advance(by: .seconds(5))
        #expect(self.arrived(harness) == ["cursor 2"])
    }

    @Test
    func `the one that is replaced ends as cancelled and not sent`() throws {
        let harness = try Harness()
        for name in ["first", "second"] {
            var command = Command(.send, event: name, payload: .empty, completion: harness.recorder.completion(name))
            command.replacing = "key"
            try harness.connection.perform(command)
        }
        #expect(harness.failure("first")?.code == .cancelled)
        #expect(harness.failure("first")?.certainty == .notSent)
        try harness.enter(.connected)
        #expect(harness.isSuccess("second"))
        #expect(harness.arrived == ["second"])
    }

    @Test
    func `a full buffer takes it for the one that it replaces, and no other`() throws {
        let harness = try Harness(options: { $0.buffer.commands = 2 }, script: { _ in .perfect })
        try harness.connection.send("cursor", 1, replacing: "cursor")
        try harness.connection.send("say", "hello")
        for number in 2...50 { try harness.connection.send("cursor", number, replacing: "cursor") }
        let error = #expect(throws: LinkspanError.self) {
            try harness.connection.send("scroll", 1, replacing: "scroll")
        }
        #expect(error?.code == .bufferFull)
        try harness.enter(.connected)
        #expect(self.arrived(harness) == ["cursor 50", "say \"hello\""])
    }

    @Test(arguments: [BufferLimits.Overflow.refuse, .dropOldest])
    func `a larger one counts with the difference, from a callback as well`(rule: BufferLimits.Overflow) throws {
        for isInCallback in [false, true] {
            let harness = try Harness(
                options: { $0.buffer = BufferLimits(bytes: 50, overflow: rule) }, script: { _ in .perfect })
            let connection = harness.connection
            let send: @Sendable () -> Void = {
                do throws(LinkspanError) {
                    try connection.send("say", "hello")
                    try connection.send("cursor", 1, replacing: "cursor")
                    try connection.send("cursor", 12, replacing: "cursor")
                    try connection.send("cursor", String(repeating: "x", count: 40), replacing: "cursor")
                } catch {
                    harness.recorder.note(error.code.rawValue)
                }
            }
            _ = connection.onStateChange { if isInCallback, $0.to == .reconnecting { send() } }
            try harness.enter(.reconnecting)
            if !isInCallback { send() }
            harness.scheduler.advance(by: .seconds(10))
            #expect(harness.recorder.notes == (rule == .refuse ? ["bufferFull"] : []))
            let long = "cursor \"\(String(repeating: "x", count: 40))\""
            #expect(self.arrived(harness) == (rule == .refuse ? ["say \"hello\"", "cursor 12"] : [long]))
        }
    }

    @Test
    func `a key is free again when its command has left, was cancelled or was dropped`() throws {
        let harness = try Harness(
            options: { $0.buffer = BufferLimits(commands: 2, overflow: .dropOldest) }, script: { _ in .perfect })
        try harness.connection.send("cursor", 1, replacing: "cursor")
        try harness.connection.send("a")
        try harness.connection.send("b")
        try harness.connection.send("cursor", 2, replacing: "cursor")
        #expect(harness.connection.status.waitingCommands == 2)
        harness.connection.cancelCommands { $0.event == "cursor" }
        try harness.connection.send("cursor", 3, replacing: "cursor")
        try harness.enter(.connected)
        #expect(self.arrived(harness) == ["b ", "cursor 3"])
        harness.peers.last?.drop()
        harness.scheduler.settle()
        try harness.connection.send("c")
        try harness.connection.send("cursor", 4, replacing: "cursor")
        harness.scheduler.advance(by: .seconds(10))
        #expect(self.arrived(harness).suffix(2) == ["c ", "cursor 4"])
    }

    @Test
    func `a typed event replaces as well, and a request never is replaced`() throws {
        let harness = try Harness()
        let cursor = Event<Int, NoReply>("cursor")
        var request = Command(.request, event: "ask", payload: .empty)
        request.replacing = "cursor"
        try harness.connection.perform(request)
        for number in 1...2 { try harness.connection.send(cursor, number, replacing: "cursor") }
        try harness.enter(.connected)
        #expect(self.arrived(harness) == ["ask ", "cursor 2"])
    }
}

@Suite("Batches", .timeLimit(.minutes(1)))
struct BatchTests {
    @Test
    func `over an open link all are given to the link in one turn`() throws {
        let harness = try Harness.connected()
        harness.transport.onMessage { harness.recorder.note("arrived \($0.event)") }
        try harness.connection.onAnyOutgoing { harness.recorder.note("left \($0.event)") }
        harness.scheduler.settle()
        try harness.connection.batch { batch throws(LinkspanError) in
            try batch.send("a", 1)
            try batch.send(Event<Int, NoReply>("b"), 2)
        }
        harness.scheduler.settle()
        #expect(harness.recorder.notes == ["left a", "left b", "arrived a", "arrived b"])
    }

    @Test
    func `one that waited leaves in one turn of the flush, however large it is`() throws {
        let harness = try Harness(
            options: { $0.flush = FlushPacing(commands: 5, pause: .milliseconds(50)) }, script: { _ in .perfect })
        for number in 0..<3 { try harness.connection.send("before \(number)") }
        try harness.connection.batch { batch throws(LinkspanError) in
            for number in 0..<10 { try batch.send("in \(number)") }
        }
        try harness.connection.send("behind")
        try harness.enter(.connected)
        #expect(harness.arrived == (0..<3).map { "before \($0)" } + (0..<10).map { "in \($0)" })
        harness.scheduler.advance(by: .milliseconds(50))
        #expect(harness.arrived.last == "behind")
    }

    @Test
    func `without room for all none is taken, from a callback either`() throws {
        let harness = try Harness(options: { $0.buffer.commands = 3 }, script: { _ in .perfect })
        @Sendable func send(_ connection: some Connection) throws(LinkspanError) {
            try connection.batch { batch throws(LinkspanError) in
                for number in 0..<3 { try batch.send("\(number)") }
            }
        }
        try harness.connection.send("waits")
        #expect(throws: LinkspanError.self) { try send(harness.connection) }
        #expect(harness.connection.status.waitingCommands == 1)
        let connection = harness.connection
        _ = connection.onStateChange { change in
            guard change.to == .reconnecting else { return }
            do throws(LinkspanError) {
                try connection.send("from a callback")
                try send(connection)
            } catch {
                harness.recorder.note(error.code.rawValue)
            }
        }
        try harness.enter(.reconnecting)
        #expect(harness.recorder.notes == ["bufferFull"])
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived == ["waits", "from a callback"])
    }

    @Test
    func `a send that made room for a refused batch has its outcome`() throws {
        let harness = try Harness(
            options: {
                $0.buffer = BufferLimits(commands: 1, overflow: .dropOldest)
                $0.deliveries.commands = 1
            }, script: { _ in .perfect })
        // From one job of the executor, so that all is on its way still.
        harness.scheduler.executor.execute {
            #expect(throws: Never.self) {
                try harness.perform(.send, "victim")
                try harness.perform(.deliver(orderingKey: "room"), "waits")
            }
            let batch = [
                Command(.send, event: "a", payload: .empty),
                Command(.deliver(orderingKey: "room"), event: "b", payload: .empty),
            ]
            #expect(throws: LinkspanError.self) { try harness.connection.perform(batch: batch) }
            #expect(throws: Never.self) { try harness.perform(.send, "next") }
        }
        harness.scheduler.settle()
        #expect(harness.failure("victim")?.code == .bufferFull)
        #expect(harness.failure("victim")?.certainty == .notSent)
        #expect(harness.connection.status.waitingCommands == 2)
        try harness.enter(.connected)
        #expect(harness.arrived == ["next", "waits"])
    }

    @Test
    func `nothing is sent when the body throws, and nothing for an empty batch`() throws {
        let harness = try Harness.connected()
        #expect(throws: LinkspanError.self) {
            try harness.connection.batch { batch throws(LinkspanError) in
                try batch.send("a")
                throw .lost
            }
        }
        try harness.connection.batch { _ in }
        harness.scheduler.settle()
        #expect(harness.arrived.isEmpty)
    }

    @Test
    func `a handler hands batches on, and refuses them once it is released`() throws {
        let harness = PoolHarness()
        let handler = try harness.connect()
        harness.scheduler.settle()
        try handler.batch { batch throws(LinkspanError) in try batch.send("a", replacing: "a") }
        harness.scheduler.settle()
        #expect(harness.transport.received.map(\.event) == ["a"])
        handler.release()
        let error = #expect(throws: LinkspanError.self) {
            try handler.batch { batch throws(LinkspanError) in try batch.send("b") }
        }
        #expect(error?.code == .released)
    }

    @Test(arguments: [(ConnectionState.connected, 5, 5), (.reconnecting, 3, 3), (.reconnecting, 4, 0)])
    func `from a callback it needs room alone while the link is down`(
        state: ConnectionState, size: Int, taken: Int
    ) throws {
        let harness = try Harness(options: { $0.buffer.commands = 3 }, script: { _ in .perfect })
        try harness.connection.on("go") { _ in Self.send(size, harness) }
        _ = harness.connection.onStateChange { if $0.to == .reconnecting { Self.send(size, harness) } }
        try harness.enter(state)
        harness.transport.openPeers.first?.emit("go")
        harness.scheduler.advance(by: .seconds(10))
        #expect(harness.arrived.count == taken)
        #expect(harness.recorder.notes == (taken == 0 ? ["bufferFull"] : []))
    }

    private static func send(_ size: Int, _ harness: Harness) {
        do throws(LinkspanError) {
            try harness.connection.batch { batch throws(LinkspanError) in
                for number in 0..<size { try batch.send("\(number)") }
            }
        } catch {
            harness.recorder.note(error.code.rawValue)
        }
    }
}
