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
}
