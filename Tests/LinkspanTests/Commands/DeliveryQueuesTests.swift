@testable import Linkspan
internal import Testing

extension DeliveryQueues {
    fileprivate mutating func beginAll(limit: Int = .max) -> [Begun] {
        var begun: [Begun] = []
        while begun.count < limit, let next = self.beginNext() { begun.append(next) }
        return begun
    }
}

@Suite("Delivery queues")
struct DeliveryQueuesTests {
    private func command(_ event: String, orderingKey: String = "room") -> Command {
        Command(.deliver(orderingKey: orderingKey), event: event, payload: .empty)
    }

    @Test
    func `only the oldest of an ordering key is under way`() throws {
        var queues = DeliveryQueues()
        let first = self.command("first")
        try queues.append(first, orderingKey: "room", within: BufferLimits())
        try queues.append(self.command("second"), orderingKey: "room", within: BufferLimits())
        #expect(queues.beginAll().map(\.command.event) == ["first"])
        #expect(queues.beginAll().isEmpty)
        #expect(queues.remove(first.id)?.wasSent == true)
        #expect(queues.beginAll().map(\.command.event) == ["second"])
    }

    @Test
    func `an interrupted head stays first`() throws {
        var queues = DeliveryQueues()
        for event in ["first", "second"] {
            try queues.append(self.command(event), orderingKey: "room", within: BufferLimits())
        }
        _ = queues.beginAll()
        _ = queues.interruptAll(isBlamed: false)
        #expect(queues.beginAll().map(\.command.event) == ["first"])
    }

    @Test
    func `all queues begin in the order in which their heads were made`() throws {
        var queues = DeliveryQueues()
        for number in 0..<20 {
            try queues.append(self.command("\(number)"), orderingKey: "\(number % 10)", within: BufferLimits())
        }
        #expect(queues.beginAll().map(\.command.event) == (0..<10).map(String.init))
        #expect(queues.beginAll().isEmpty)
    }

    @Test
    func `only what was begun may have been sent`() throws {
        var queues = DeliveryQueues()
        for event in ["a", "b"] { try queues.append(self.command(event), orderingKey: "one", within: BufferLimits()) }
        try queues.append(self.command("c"), orderingKey: "two", within: BufferLimits())
        _ = queues.beginAll(limit: 1)
        _ = queues.interruptAll(isBlamed: false)
        let left = queues.removeAll()
        #expect(left.map(\.command.event) == ["a", "b", "c"])
        #expect(left.map(\.wasSent) == [true, false, false])
    }

    @Test
    func `the next head does not inherit that the former one was sent`() throws {
        var queues = DeliveryQueues()
        let (first, second) = (self.command("a"), self.command("b"))
        try queues.append(first, orderingKey: "room", within: BufferLimits())
        try queues.append(second, orderingKey: "room", within: BufferLimits())
        _ = queues.beginAll()
        _ = queues.remove(first.id)
        #expect(queues.remove(second.id)?.wasSent == false)
    }

    @Test
    func `counts follow what is in the queues, and both limits hold`() throws {
        let limits = BufferLimits(commands: 2, bytes: 6)
        var queues = DeliveryQueues()
        let first = self.command("aaa")
        try queues.append(first, orderingKey: "room", within: limits)
        try queues.append(self.command("bbb"), orderingKey: "other", within: limits)
        #expect(throws: LinkspanError.self) { try queues.append(self.command(""), orderingKey: "room", within: limits) }
        _ = queues.remove(first.id)
        #expect((queues.count, queues.byteCount) == (1, 3))
        #expect(throws: LinkspanError.self) {
            try queues.append(self.command("cccc"), orderingKey: "room", within: limits)
        }
        _ = queues.removeAll()
        #expect((queues.count, queues.byteCount) == (0, 0))
    }
}
