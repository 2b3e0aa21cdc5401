@testable import Linkspan
internal import LinkspanRuntime
internal import LinkspanTesting
internal import TestSupport
internal import Testing

@Suite("The growth of queues")
struct GrowthTests {
    /// Asks for its place in the document, as an error does that tells it.
    private struct Placed: Decodable {
        let path: [any CodingKey]

        init(from decoder: any Decoder) { self.path = decoder.codingPath }
    }

    @Test
    func `the places of all members of an object, and of all elements of an array, cost one walk`() throws {
        try expectLinear { size in
            let members = (0..<size).map { "\"key\($0)\":0" }.joined(separator: ",")
            let payload = try Payload(checking: Array("{\(members)}".utf8)[...])
            let placed = try payload.decode([String: Placed].self)
            #expect(placed.allSatisfy { $1.path.last?.stringValue == $0 })
        }
        try expectLinear { size in
            let elements = Array(repeating: "0", count: size).joined(separator: ",")
            let placed = try Payload(checking: Array("[\(elements)]".utf8)[...]).decode([Placed].self)
            #expect(placed.map { $0.path.last?.intValue } == Array(0..<size))
        }
    }

    /// The ways in which many commands wait.
    enum Shape: String, CaseIterable {
        case sends
        case requests
        case replacing
        case oneOrderingKey
        case manyOrderingKeys

        func command(_ number: Int) -> Command {
            switch self {
            case .sends: return Command(.send, event: "a", payload: .empty) { _ in }
            case .requests: return Command(.request, event: "a", payload: .empty)
            case .replacing:
                var command = Command(.send, event: "a", payload: .empty)
                command.replacing = "\(number)"
                return command
            case .oneOrderingKey:
                return Command(.deliver(orderingKey: ""), event: "a", payload: .empty, key: "\(number)")
            case .manyOrderingKeys: return Command(.deliver(orderingKey: "\(number)"), event: "a", payload: .empty)
            }
        }
    }

    private let now = Moment.now

    private static let options = ConnectionOptions {
        ($0.buffer.commands, $0.deliveries.commands) = (100_000, 100_000)
    }

    private func machine(_ commands: [Command]) throws -> Outgoing {
        var machine = Outgoing(options: Boxed(Self.options))
        for command in commands { _ = try machine.accept(command, made: { self.now }) }
        return machine
    }

    private func open(_ machine: inout Outgoing) {
        machine.linkOpened(greetedAs: nil)
    }

    /// Sends what may be sent, turn by turn.
    private func flush(
        _ machine: inout Outgoing,
        _ body: (consuming ReadyCommand, inout Outgoing) -> Void
    ) {
        while true {
            while let outgoing = machine.nextToFlush(now: self.now) { body(outgoing, &machine) }
            guard case .pauseFlush(let number, _)? = machine.outputs.popLast() else { return }
            machine.resume(pause: number, hasLeft: true)
        }
    }

    @Test(arguments: Shape.allCases)
    func `commands that wait are cancelled one by one in linear time, from the front, the back and anywhere`(
        shape: Shape
    ) throws {
        for order in 0..<3 {
            try expectLinear { size in
                var generator = SeededGenerator(seed: 1)
                let commands = (0..<size).map { shape.command($0) }
                var machine = try self.machine(commands)
                var ids = commands.map(\.id)
                if order == 1 { ids.reverse() }
                if order == 2 { ids.shuffle(using: &generator) }
                for id in ids { machine.cancel([id]) }
                #expect(machine.outputs.count == size && machine.load.waiting == 0)
            }
        }
    }

    @Test(arguments: Shape.allCases)
    func `commands that wait are sent, put back, sent again and answered in linear time`(shape: Shape) throws {
        try expectLinear(stepsEach: 150) { size in
            var machine = try self.machine((0..<size).map { shape.command($0) })
            self.open(&machine)
            // Each is refused once, and the link has room again.
            var refused: Set<Command.ID> = []
            var (answered, lost) = (0, 0)
            while machine.load.waiting + machine.awaited.count > 0, answered < 2 * size {
                var numbers: [UInt64] = []
                self.flush(&machine) { outgoing, machine in
                    if refused.insert(outgoing.command.id).inserted {
                        machine.takeBack(outgoing, now: self.now)
                        machine.linkIsWritable()
                        // Deliveries wait until they are answered, other commands until they are sent.
                        let load = machine.load
                        let held = load.deliveries > 0 ? load.deliveries : load.commands + machine.awaited.count
                        if held + answered != size { lost += 1 }
                        return
                    }
                    if let number = outgoing.requestID { numbers.append(number) } else { answered += 1 }
                    machine.linkTook(outgoing)
                }
                for number in numbers where machine.takeAwaited(number) != nil { answered += 1 }
            }
            #expect(refused.count == size && lost == 0, "a command that is put back waits again")
            #expect(answered == size)
        }
    }

    @Test(arguments: [Shape.requests, .oneOrderingKey, .manyOrderingKeys])
    func `commands whose time runs out one after the other end in linear time`(shape: Shape) throws {
        try expectLinear { size in
            let commands = (0..<size).map { number in
                var command = shape.command(number)
                command.timeout = .milliseconds(size - number)
                return command
            }
            var machine = try self.machine(commands)
            for instant in 1...size { machine.expire(now: self.now + .milliseconds(instant)) }
            #expect(machine.outputs.count == size && machine.load.waiting == 0)
        }
    }

    @Test
    func `deliveries under way that are repeated one after the other take linear time`() throws {
        try expectLinear { size in
            var machine = try self.machine((0..<size).map { Shape.manyOrderingKeys.command($0) })
            self.open(&machine)
            self.flush(&machine) { outgoing, machine in machine.linkTook(outgoing) }
            #expect(machine.awaited.count == size)
            var repeated = 0
            let due = self.now + Self.options.deliveries.repeatAfter
            machine.expire(now: due)
            self.flush(&machine) { outgoing, machine in
                repeated += 1
                machine.linkTook(outgoing)
            }
            #expect(repeated == size)
        }
    }

    @Test
    func `a command that replaces another finds it in the same time however many wait`() throws {
        try expectLinear { size in
            var machine = try self.machine((0..<size).map { Shape.replacing.command($0) })
            for number in 0..<size {
                _ = try machine.accept(Shape.replacing.command(number), made: { self.now })
            }
            #expect(machine.outputs.count == size && machine.load.commands == size)
        }
    }

    @Test
    func `keys of replaceable commands are published by what has changed`() throws {
        let harness = try Harness(options: { $0.buffer.commands = 100_000 }, script: { _ in .perfect })
        let connection = harness.connection
        try expectLinear(size: 200) { size in
            for number in 0..<size { try connection.send("a", replacing: "\(size) \(number)") }
        }
    }

    @Test(arguments: Shape.allCases)
    func `a connection takes and sends a backlog in linear time`(shape: Shape) throws {
        try expectLinear(size: 500) { size in
            let harness = try Harness(options: { $0 = Self.options }, script: { _ in .perfect })
            harness.transport.onMessage { $0.reply() }
            for number in 0..<size { try harness.connection.perform(shape.command(number)) }
            try harness.enter(.connected)
            harness.scheduler.advance(by: .seconds(1))
            #expect(harness.arrived.count == size)
        }
    }

    @Test(arguments: [nil, "a"])
    func `a message and a mark cost one step for each listener, also when some are removed meanwhile`(
        event: String?
    ) {
        expectLinear(stepsEach: 3) { size in
            let (driver, heard) = (RouterDriver(), Lock(0))
            let subscriptions = Lock<[Subscription]>([])
            for number in 0..<size {
                let subscription = driver.addForItems(event: event) { _ in
                    heard.withLock { $0 += 1 }
                    // The first removes the last one.
                    if number == 0 { subscriptions.withLock { $0.popLast() }?.cancel() }
                }
                subscriptions.withLock { $0.append(subscription) }
            }
            driver.route(Message(event: "a", payload: .empty))
            driver.router.route(.gap(.reconnected))
            #expect(heard.withLock { $0 } == size - 1 + size - 2)
        }
    }
}
