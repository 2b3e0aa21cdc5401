@testable import Linkspan
internal import Testing

extension DeliveryLanes {
    fileprivate mutating func beginAll(limit: Int = .max) -> [Begun] {
        var begun: [Begun] = []
        while begun.count < limit, let next = self.beginNext() { begun.append(next) }
        return begun
    }
}

@Suite("Delivery lanes")
struct DeliveryLanesTests {
    private func command(_ event: String, lane: String = "lane") -> Command {
        Command(.deliver(lane: lane), event: event, payload: .empty)
    }

    @Test
    func `only the oldest of a lane is under way`() throws {
        var lanes = DeliveryLanes(limits: BufferLimits())
        let first = self.command("first")
        try lanes.append(first, lane: "lane")
        try lanes.append(self.command("second"), lane: "lane")
        #expect(lanes.beginAll().map(\.command.event) == ["first"])
        #expect(lanes.beginAll().isEmpty)
        #expect(lanes.remove(first.id, lane: "lane")?.wasSent == true)
        #expect(lanes.beginAll().map(\.command.event) == ["second"])
    }

    @Test
    func `an interrupted head stays first`() throws {
        var lanes = DeliveryLanes(limits: BufferLimits())
        for event in ["first", "second"] { try lanes.append(self.command(event), lane: "lane") }
        _ = lanes.beginAll()
        lanes.interruptAll()
        #expect(lanes.beginAll().map(\.command.event) == ["first"])
    }

    @Test
    func `all lanes begin in the order in which their heads were made`() throws {
        var lanes = DeliveryLanes(limits: BufferLimits())
        for number in 0..<20 { try lanes.append(self.command("\(number)"), lane: "\(number % 10)") }
        #expect(lanes.beginAll().map(\.command.event) == (0..<10).map(String.init))
        #expect(lanes.beginAll().isEmpty)
    }

    @Test
    func `only what was begun may have been sent`() throws {
        var lanes = DeliveryLanes(limits: BufferLimits())
        for event in ["a", "b"] { try lanes.append(self.command(event), lane: "one") }
        try lanes.append(self.command("c"), lane: "two")
        _ = lanes.beginAll(limit: 1)
        lanes.interruptAll()
        let left = lanes.removeAll()
        #expect(left.map(\.command.event) == ["a", "b", "c"])
        #expect(left.map(\.wasSent) == [true, false, false])
    }

    @Test
    func `the next head does not inherit that the former one was sent`() throws {
        var lanes = DeliveryLanes(limits: BufferLimits())
        let (first, second) = (self.command("a"), self.command("b"))
        try lanes.append(first, lane: "lane")
        try lanes.append(second, lane: "lane")
        _ = lanes.beginAll()
        _ = lanes.remove(first.id, lane: "lane")
        #expect(lanes.remove(second.id, lane: "lane")?.wasSent == false)
    }

    @Test
    func `counts follow what is in the lanes, and both limits hold`() throws {
        var lanes = DeliveryLanes(limits: BufferLimits(commands: 2, bytes: 6))
        let first = self.command("aaa")
        try lanes.append(first, lane: "lane")
        try lanes.append(self.command("bbb"), lane: "other")
        #expect(throws: LinkspanError.self) { try lanes.append(self.command(""), lane: "lane") }
        _ = lanes.remove(first.id, lane: "lane")
        #expect((lanes.count, lanes.byteCount) == (1, 3))
        #expect(throws: LinkspanError.self) { try lanes.append(self.command("cccc"), lane: "lane") }
        _ = lanes.removeAll()
        #expect((lanes.count, lanes.byteCount) == (0, 0))
    }
}
