internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable internal import LinkspanSocketIO

@Suite("The output of a session")
struct SocketIOOutputTests {
    private func output(_ events: [(namespace: Int, name: String)]) -> SocketIOOutput {
        var output = SocketIOOutput()
        for (namespace, name) in events {
            output.deliver(.message(InboundMessage(event: name, payload: .empty)), to: namespace)
        }
        return output
    }

    /// The events that the link of a namespace takes in one go, while those of others are put aside.
    private func take(_ namespace: Int, from output: inout SocketIOOutput) -> [String] {
        var names: [String] = []
        while true {
            if case .message(let message)? = output.takeEvent(of: namespace) {
                names.append(message.event)
            } else if !output.putAside() {
                break
            }
        }
        output.takeBack()
        return names
    }

    @Test
    func `each link takes its events in one go, in their order, whatever stands between them`() {
        let events = [(0, "a1"), (1, "b1"), (0, "a2"), (2, "c1"), (1, "b2"), (0, "a3"), (2, "c2")]
        for (first, second, third) in [(0, 1, 2), (1, 2, 0), (2, 0, 1)] {
            var output = self.output(events)
            for namespace in [first, second, third] {
                let taken = self.take(namespace, from: &output)
                #expect(taken == events.filter { $0.0 == namespace }.map(\.1))
            }
            #expect(output.isEmpty)
        }
    }

    @Test
    func `events that come meanwhile stand behind those that were put aside`() {
        var output = self.output([(1, "b1"), (0, "a1")])
        let isAside = output.putAside()
        #expect(isAside)
        output.deliver(.message(InboundMessage(event: "b2", payload: .empty)), to: 1)
        output.takeBack()
        let taken = (self.take(1, from: &output), self.take(0, from: &output))
        #expect(taken == (["b1", "b2"], ["a1"]))
    }

    @Test
    func `nothing is put aside while a frame waits or the stream ends, nor without end`() {
        var output = self.output([(1, "b1")])
        output.send { $0.append(1) }
        let isAsideOfFrame = output.putAside()
        output.frames = []
        output.close = LinkspanError(.connectionLost, "lost")
        let isAsideOfEnd = output.putAside()
        #expect(!isAsideOfFrame && !isAsideOfEnd && output.nextNamespace == 1)
        var many = self.output((0..<100).map { (1, "\($0)") })
        var count = 0
        while many.putAside() { count += 1 }
        many.takeBack()
        let taken = self.take(1, from: &many)
        #expect(count == 64 && taken == (0..<100).map { "\($0)" })
    }
}
