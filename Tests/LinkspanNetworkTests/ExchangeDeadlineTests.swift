internal import LinkspanNetwork
internal import Testing

@Suite("Deadlines of exchanges")
struct ExchangeDeadlineTests {
    /// A stream that is open after a request to an address.
    private static func open(isExchange: Bool) -> StreamStateMachine {
        var machine = StreamStateMachine(isExchange: isExchange)
        _ = machine.resolved(.success(["127.0.0.1"]))
        machine.reached()
        _ = machine.sendsRequest()
        _ = machine.received(ResponseHead(status: isExchange ? 200 : 101))
        #expect(machine.isOpen)
        return machine
    }

    // Because a macro cannot change a value.
    private static func isGettingOn(_ machine: inout StreamStateMachine, isPaused: Bool) -> Bool {
        machine.isGettingOn(isPaused: isPaused)
    }

    @Test
    func `begin anew while an answer makes progress or is not read`() {
        var machine = Self.open(isExchange: true)
        machine.received(byteCount: StreamStateMachine.exchangeProgress)
        #expect(Self.isGettingOn(&machine, isPaused: false))
        #expect(Self.isGettingOn(&machine, isPaused: true))
        machine.received(byteCount: StreamStateMachine.exchangeProgress - 1)
        #expect(!Self.isGettingOn(&machine, isPaused: false), "what came before the last deadline does not count")
        let error = machine.deadlinePassed(in: nil)
        #expect(error?.code == .timedOut)
    }

    @Test
    func `are those of opening alone for streams`() {
        var machine = Self.open(isExchange: false)
        machine.received(byteCount: 1 << 20)
        #expect(!Self.isGettingOn(&machine, isPaused: false))
        let error = machine.deadlinePassed(in: nil)
        #expect(error == nil)
    }
}
