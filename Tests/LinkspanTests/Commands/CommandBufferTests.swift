internal import LinkspanRuntime
internal import LinkspanTesting
internal import Testing

@testable import Linkspan

@Suite("The command buffer")
struct CommandBufferTests {
    private func command(_ event: String) -> Command { Command(.send, event: event, payload: .empty) }

    private func drain(_ buffer: CommandBuffer) -> [String] {
        var buffer = buffer
        return buffer.removeAll().map(\.event)
    }

    @Test
    func `commands leave in the order in which they came`() throws {
        let limits = BufferLimits()
        var buffer = CommandBuffer()
        for number in 0..<10 { _ = try buffer.add(self.command("\(number)"), within: limits) }
        let events = (0..<10).compactMap { _ in buffer.popFirst()?.event }
        #expect(events == (0..<10).map(String.init))
        #expect(buffer.isEmpty)
        #expect(buffer.byteCount == 0)
    }

    @Test
    func `a full buffer refuses and says how full it is`() throws {
        let limits = BufferLimits(commands: 2)
        var buffer = CommandBuffer()
        _ = try buffer.add(self.command("a"), within: limits)
        _ = try buffer.add(self.command("b"), within: limits)
        let error = #expect(throws: LinkspanError.self) { try buffer.add(self.command("c"), within: limits) }
        #expect(error?.code == .bufferFull)
        #expect(error?.certainty == .notSent)
        #expect(error?.message.contains("2 commands") == true)
        #expect(self.drain(buffer) == ["a", "b"])
    }

    @Test(arguments: [(BufferLimits.Overflow.dropOldest, ["b", "c"], ["a"]), (.dropNewest, ["a", "c"], ["b"])])
    func `a dropping buffer names whom it dropped`(
        rule: BufferLimits.Overflow, left: [String], dropped: [String]
    ) throws {
        let limits = BufferLimits(commands: 2, overflow: rule)
        var buffer = CommandBuffer()
        _ = try buffer.add(self.command("a"), within: limits)
        _ = try buffer.add(self.command("b"), within: limits)
        #expect(try buffer.add(self.command("c"), within: limits).dropped.map(\.event) == dropped)
        #expect(self.drain(buffer) == left)
    }

    @Test(arguments: [BufferLimits.Overflow.refuse, .dropOldest, .dropNewest])
    func `a command larger than the buffer has room when it is alone`(rule: BufferLimits.Overflow) throws {
        let limits = BufferLimits(bytes: 10, overflow: rule)
        var buffer = CommandBuffer()
        #expect(try buffer.add(self.command("longer than ten bytes"), within: limits).dropped.isEmpty)
        #expect(self.drain(buffer) == ["longer than ten bytes"])
    }

    @Test
    func `a command larger than the buffer is refused beside another`() throws {
        let limits = BufferLimits(bytes: 10, overflow: .refuse)
        var buffer = CommandBuffer()
        _ = try buffer.add(self.command("a"), within: limits)
        #expect(throws: LinkspanError.self) { try buffer.add(self.command("longer than ten bytes"), within: limits) }
        #expect(self.drain(buffer) == ["a"])
    }

    @Test
    func `bytes count the event and the payload`() throws {
        let limits = BufferLimits(bytes: 10)
        var buffer = CommandBuffer()
        _ = try buffer.add(Command(.send, event: "12345", payload: .json("12345")), within: limits)
        #expect(buffer.byteCount == 10)
        #expect(throws: LinkspanError.self) { try buffer.add(self.command("x"), within: limits) }
        #expect(buffer.removeAll().count == 1)
        #expect(buffer.byteCount == 0)
    }

    @Test
    func `a command that is put back keeps its place`() throws {
        let limits = BufferLimits()
        var buffer = CommandBuffer()
        for event in ["a", "b", "c", "d"] { _ = try buffer.add(self.command(event), within: limits) }
        for command in [buffer.popFirst(), buffer.popFirst()].compactMap(\.self).reversed() { buffer.restore(command) }
        #expect(self.drain(buffer) == ["a", "b", "c", "d"])
    }

    @Test
    func `a command can be taken out of the middle once`() throws {
        let limits = BufferLimits()
        var buffer = CommandBuffer()
        let middle = self.command("b")
        for command in [self.command("a"), middle, self.command("c")] { _ = try buffer.add(command, within: limits) }
        #expect(buffer.remove(middle.id)?.event == "b")
        #expect(buffer.remove(middle.id) == nil)
        #expect(buffer.byteCount == 2)
        #expect(self.drain(buffer) == ["a", "c"])
    }

    private func replacing(_ event: String) -> Command {
        var command = self.command(event)
        command.replacing = "key"
        return command
    }

    @Test(arguments: [
        (BufferLimits.Overflow.dropOldest, ["123456", "c"], ["a"]), (.dropNewest, ["a", "123456"], ["c"]),
    ])
    func `one that is larger than the one that it replaces makes room by the rule, and keeps its place`(
        rule: BufferLimits.Overflow, left: [String], dropped: [String]
    ) throws {
        let limits = BufferLimits(bytes: 7, overflow: rule)
        var buffer = CommandBuffer()
        for command in [self.command("a"), self.replacing("b"), self.command("c")] {
            _ = try buffer.add(command, within: limits)
        }
        _ = buffer.takeKeyChanges()
        let added = try buffer.add(self.replacing("123456"), within: limits)
        #expect(added.former?.event == "b")
        #expect(added.dropped.map(\.event) == dropped)
        #expect(buffer.byteCount == 7)
        #expect(buffer.takeKeyChanges().map(\.byteCount) == [6])
        #expect(self.drain(buffer) == left)
    }

    @Test
    func `one that is larger than the one that it replaces is refused without room, unless it is alone`() throws {
        let limits = BufferLimits(bytes: 7)
        var buffer = CommandBuffer()
        for event in ["b", "longer than ten bytes", "b"] { _ = try buffer.add(self.replacing(event), within: limits) }
        _ = try buffer.add(self.command("a"), within: limits)
        #expect(throws: LinkspanError.self) { try buffer.add(self.replacing("1234567"), within: limits) }
        #expect(self.drain(buffer) == ["b", "a"])
        // One whose caller has been told that it was taken is not refused any more.
        #expect(try buffer.add(self.replacing("1234567"), within: limits, hasBeenTaken: true).dropped.isEmpty)
        #expect(self.drain(buffer) == ["1234567", "a"])
        // One that is no larger needs no room, though there is too much by now.
        _ = try buffer.add(self.replacing("7654321"), within: limits)
        for event in ["123456", "b"] { _ = try buffer.add(self.replacing(event), within: limits) }
        #expect(self.drain(buffer) == ["b", "a"])
    }

    @Test
    func `the bytes of one that is held back count as long as it is`() throws {
        var (buffer, command) = (CommandBuffer(), self.command("later"))
        command.delay = .seconds(1)
        _ = try buffer.add(command, within: BufferLimits())
        #expect(buffer.byteCount == 5)
        #expect(buffer.isEmpty, "nothing waits for the link")
        #expect(buffer.remove(command.id) != nil)
        #expect(buffer.byteCount == 0)
    }
}

@Suite("The deadline queue")
struct DeadlineQueueTests {
    private let start = Moment.now

    @Test(arguments: 0..<50)
    func `deadlines pass in order of time, whatever the order of insertion`(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        var queue = DeadlineQueue()
        var due: [Command.ID: Int] = [:]
        for _ in 0..<Int.random(in: 1...200, using: &generator) {
            let (id, second) = (Command.ID.next(), Int.random(in: 0...100, using: &generator))
            due[id] = second
            queue.insert(id, at: self.start + .seconds(second))
        }
        let alive = Set(due.keys.filter { _ in Int.random(in: 0..<3, using: &generator) > 0 })
        if seed.isMultiple(of: 2) {
            queue.compact { alive.contains($0) }
            due = due.filter { alive.contains($0.key) }
        }
        var order: [Int] = []
        for second in 0...100 {
            while let id = queue.popExpired(now: self.start + .seconds(second)) {
                #expect(due[id] == second)
                order.append(second)
            }
        }
        #expect(order == due.values.sorted())
        #expect(queue.earliest == nil)
    }

    @Test
    func `nothing passes before its time`() {
        var queue = DeadlineQueue()
        let id = Command.ID.next()
        queue.insert(id, at: self.start + .seconds(1))
        #expect(queue.popExpired(now: self.start + .milliseconds(999)) == nil)
        #expect(queue.popExpired(now: self.start + .seconds(1)) == id)
        #expect(queue.popExpired(now: self.start + .seconds(1)) == nil)
    }
}
