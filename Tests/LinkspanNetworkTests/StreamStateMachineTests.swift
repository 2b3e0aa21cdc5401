internal import Testing

@testable internal import LinkspanNetwork

@Suite("Addresses of a stream, dialed one after the other (RFC 8305)")
struct StreamStateMachineTests {
    private static let addresses = ["192.0.2.1", "192.0.2.2", "192.0.2.3"]

    /// An action as text: `dial ADDRESS before` the number of others, `end CODE`, or `nothing`.
    private static func text(_ action: StreamStateMachine.OnDial) -> String {
        switch action {
        case .dial(let address, let others): "dial \(address) before \(others)"
        case .end(let error): "end \(error.code)"
        case .ignore: "nothing"
        }
    }

    /// Calls `sendsRequest()`, which `#expect` cannot do itself because it is a mutating method without an argument.
    private static func sends(_ machine: inout StreamStateMachine) -> Bool { machine.sendsRequest() }

    private static func dialing() -> StreamStateMachine {
        var machine = StreamStateMachine()
        #expect(self.text(machine.resolved(.success(self.addresses))) == "dial 192.0.2.1 before 2")
        return machine
    }

    @Test
    func `the next is dialed at a failure or after a delay, and the failure of the last one dialed is the end`() {
        var machine = Self.dialing()
        #expect(Self.text(machine.attemptDelayPassed()) == "dial 192.0.2.2 before 1")
        #expect(Self.text(machine.failed(.hangUp)) == "dial 192.0.2.3 before 0")
        #expect(Self.text(machine.attemptDelayPassed()) == "nothing")
        #expect(Self.text(machine.failed(.hangUp)) == "nothing", "one may still answer")
        #expect(Self.text(machine.failed(.hangUp)) == "end unreachable")
        #expect(Self.text(machine.failed(.hangUp)) == "nothing")
    }

    @Test
    func `once one answers no other is dialed, unless it fails after all`() {
        var machine = Self.dialing()
        machine.reached()
        #expect(!machine.isRacing)
        #expect(Self.text(machine.attemptDelayPassed()) == "nothing")
        #expect(Self.text(machine.failed(.hangUp)) == "dial 192.0.2.2 before 1")
        #expect(machine.isRacing)
        #expect(Self.text(machine.attemptDelayPassed()) == "dial 192.0.2.3 before 0")
        machine.reached()
        #expect(Self.sends(&machine))
        #expect(!machine.isRacing && !machine.isOpen)
    }

    @Test
    func `without an answer, or after a rejection, no request is sent`() {
        var machine = StreamStateMachine()
        #expect(!Self.sends(&machine))
        machine = Self.dialing()
        machine.reached()
        machine.rejected(ByteStreamError(.proxyRefused, "no"))
        #expect(!Self.sends(&machine))
        #expect(Self.text(machine.failed(.hangUp)) == "end proxyRefused", "the reason of the rejection counts")
    }

    @Test
    func `a name without an address is the end`() {
        var machine = StreamStateMachine()
        #expect(Self.text(machine.resolved(.success([]))) == "end nameNotResolved")
        #expect(Self.text(machine.resolved(.success(Self.addresses))) == "nothing")
    }

    @Test
    func `the attempts beside the one that has answered are forgotten, and its failure goes on to the next`() {
        var machine = Self.dialing()
        #expect(Self.text(machine.attemptDelayPassed()) == "dial 192.0.2.2 before 1")
        machine.reached()
        #expect(Self.text(machine.connectionClosed()) == "dial 192.0.2.3 before 0")
        machine.reached()
        #expect(Self.text(machine.failed(.hangUp)) == "end unreachable")
        #expect(StreamStateMachine.attemptDelay == .milliseconds(250))
    }
}

@Suite("The life of a stream")
struct StreamLifeTests {
    /// A stream, or an exchange, whose request is sent.
    private static func sent(isExchange: Bool = false) -> StreamStateMachine {
        var machine = StreamStateMachine(isExchange: isExchange)
        machine.reuses()
        return machine
    }

    /// The same after the answer.
    private static func open(isExchange: Bool = false) -> StreamStateMachine {
        var machine = Self.sent(isExchange: isExchange)
        _ = machine.received(ResponseHead(status: isExchange ? 404 : 101))
        #expect(machine.isOpen)
        return machine
    }

    private static func code(_ action: StreamStateMachine.OnDial) -> ByteStreamError.Code? {
        if case .end(let error) = action { error.code } else { nil }
    }

    @Test
    func `the deadline of an exchange restarts with 64 KiB of its answer, or while reading is paused`() {
        var machine = Self.open(isExchange: true)
        let goesOn = [[], [65_535], [1], [32_768, 32_768], []].map { counts in
            for count in counts { machine.received(byteCount: count) }
            return machine.isGettingOn(isPaused: false)
        }
        #expect(goesOn == [false, false, false, true, false])
        var others = [Self.open(isExchange: true), Self.sent(isExchange: true), Self.open()]
        let paused = others.indices.map { others[$0].isGettingOn(isPaused: true) }
        #expect(paused == [true, false, false])
    }

    @Test
    func `the deadline ends what is opened, finished or answered too slowly, and no open stream`() {
        var machines = [Self.sent(), Self.open(), Self.open(isExchange: true), Self.open(), Self.open()]
        for index in 3...4 { _ = machines[index].finish() }
        _ = machines[4].flushed()
        let stages = machines.map { $0.openingStage(.server) { .connecting(.server) } }
        #expect(stages == [.upgrade, nil, nil, nil, nil])
        #expect(Self.sent(isExchange: true).openingStage(.server) { .connecting(.server) } == .answer)
        let codes = machines.indices.map { machines[$0].deadlinePassed(in: stages[$0])?.code }
        #expect(codes == [.timedOut, nil, .timedOut, .timedOut, .closedByUs])
    }

    @Test
    func `a stream that is being finished ends with the peer's end, or with a flood`() {
        var machines = [Self.open(), Self.open(), Self.open(), Self.open(), Self.open()]
        for index in 1...4 { _ = machines[index].finish() }
        for index in 3...4 {
            let isAll = machines[index].flushed()
            #expect(isAll)
        }
        let isAllTwice = machines[4].flushed()
        #expect(!isAllTwice)
        let floods = [0, 1, 3].map { machines[$0].flooded()?.code }
        #expect(floods == [nil, .closedByUs, .closedByUs])
        let ends = [0, 2, 4].map { Self.code(machines[$0].connectionClosed()) }
        #expect(ends == [.closedByPeer, .closedByPeer, .closedByUs])
    }
}
