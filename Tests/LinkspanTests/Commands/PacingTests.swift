@testable import Linkspan
internal import LinkspanTesting
internal import Testing

@Suite("The pace of the flush")
struct PacingTests {
    private static func harness(_ pacing: FlushPacing) throws -> Harness {
        try Harness(options: { $0.flush = pacing }, script: { _ in .perfect })
    }

    @Test
    func `a backlog leaves in turns, with a pause after each full one`() throws {
        let harness = try Self.harness(FlushPacing(commands: 10, pause: .milliseconds(50)))
        for number in 0..<25 { try harness.perform(.send, "\(number)") }
        try harness.enter(.connected)
        #expect(harness.arrived.count == 10)
        harness.scheduler.advance(by: .milliseconds(49))
        #expect(harness.arrived.count == 10)
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.arrived.count == 20)
        harness.scheduler.advance(by: .milliseconds(50))
        #expect(harness.arrived == (0..<25).map(String.init))
    }

    @Test
    func `a turn ends with the command that makes it large enough`() throws {
        let harness = try Self.harness(FlushPacing(bytes: 10))
        for event in ["1234", "5678", "9012", "3456"] { try harness.perform(.send, event) }
        try harness.enter(.connected)
        #expect(harness.arrived == ["1234", "5678", "9012"])
        harness.scheduler.advance(by: .milliseconds(10))
        #expect(harness.arrived.count == 4)
    }

    @Test
    func `commands sent in a pause follow the backlog, and the pause ends with it`() throws {
        let harness = try Self.harness(FlushPacing(commands: 2))
        for number in 0..<3 { try harness.perform(.send, "\(number)") }
        try harness.enter(.connected)
        try harness.perform(.send, "in the pause")
        harness.scheduler.advance(by: .milliseconds(10))
        #expect(harness.arrived == ["0", "1", "2", "in the pause"])
        harness.scheduler.advance(by: .milliseconds(10))
        try harness.perform(.send, "afterwards")
        harness.scheduler.settle()
        #expect(harness.arrived.last == "afterwards")
        #expect(harness.connection.status.waitingCommands == 0)
    }

    @Test
    func `a link that is lost in a pause leaves the rest to the next`() throws {
        let harness = try Self.harness(FlushPacing(commands: 2, pause: .seconds(1)))
        for number in 0..<5 { try harness.perform(.send, "\(number)") }
        try harness.enter(.connected)
        harness.peers.first?.drop()
        harness.scheduler.settle()
        #expect(harness.arrived == ["0", "1"])
        harness.scheduler.advance(by: .seconds(30))
        #expect(harness.arrived == (0..<5).map(String.init))
        #expect(harness.peers.count == 2)
    }

    @Test
    func `the end of a former link's pause does not shorten that of the next`() throws {
        let harness = try Harness(
            options: {
                $0.flush = FlushPacing(commands: 1, pause: .seconds(5))
                $0.retry = RetryPolicy { _ in .seconds(3) }
            }, script: { _ in .perfect })
        for number in 0..<3 { try harness.perform(.send, "\(number)") }
        try harness.enter(.connected)
        harness.peers.first?.drop()
        harness.scheduler.advance(by: .seconds(3))
        #expect(harness.arrived == ["0", "1"])
        harness.scheduler.advance(by: .milliseconds(4_999))
        #expect(harness.arrived == ["0", "1"])
        harness.scheduler.advance(by: .milliseconds(1))
        #expect(harness.arrived == ["0", "1", "2"])
    }

    @Test
    func `a batch begins behind the pause, and is not cut by the next one`() throws {
        let harness = try Self.harness(FlushPacing(commands: 1, pause: .seconds(5)))
        try harness.perform(.send, "a")
        try harness.connection.perform(batch: ["b", "c"].map { Command(.send, event: $0, payload: .empty) })
        try harness.enter(.connected)
        #expect(harness.arrived == ["a"])
        harness.scheduler.advance(by: .seconds(5))
        #expect(harness.arrived == ["a", "b", "c"])
    }

    @Test
    func `deliveries keep the pace as well, each orderingKey in order`() throws {
        let harness = try Self.harness(FlushPacing(commands: 3, pause: .milliseconds(20)))
        harness.transport.onMessage { $0.reply() }
        for number in 0..<8 { try harness.perform(.deliver(orderingKey: "\(number % 4)"), "\(number)") }
        try harness.enter(.connected)
        #expect(harness.arrived.count == 3)
        harness.scheduler.advance(by: .seconds(1))
        #expect(harness.arrived.count == 8)
        for orderingKey in 0..<4 {
            let numbers = harness.arrived.compactMap(Int.init).filter { $0 % 4 == orderingKey }
            #expect(numbers == numbers.sorted())
        }
    }

    @Test(arguments: [FlushPacing(commands: 0), FlushPacing(bytes: 0), FlushPacing(pause: .seconds(-1))])
    func `a pace at which nothing leaves is refused`(pacing: FlushPacing) {
        let error = #expect(throws: LinkspanError.self) { try Self.harness(pacing) }
        #expect(error?.code == .invalidConfiguration)
    }

    @Test
    func `a pace without pauses is accepted`() throws {
        _ = try Self.harness(FlushPacing(commands: 1, pause: .zero))
    }

    @Test(arguments: [(nil, [80, 40, 20, 10, 10]), (100, [160, 160, 160])])
    func `pauses grow shorter while the link keeps up, and not while bytes wait in it`(
        capacity: Int?, pauses: [Int]
    ) throws {
        let harness = try Harness(
            options: { $0.flush = FlushPacing(commands: 1, pause: .milliseconds(160)) },
            script: { _ in .init { $0.capacity = capacity } })
        for number in 0..<10 { try harness.perform(.send, "\(number)") }
        try harness.enter(.connected)
        var count = 1
        for pause in [160] + pauses {
            harness.scheduler.advance(by: .milliseconds(pause) - .nanoseconds(1))
            #expect(harness.transport.sent.count == count)
            harness.scheduler.advance(by: .nanoseconds(1))
            count += 1
            #expect(harness.transport.sent.count == count)
        }
    }
}
