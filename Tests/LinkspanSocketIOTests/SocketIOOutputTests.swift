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
                let expected = events.filter { $0.0 == namespace }.map(\.1)
                #expect(self.take(namespace, from: &output) == expected)
            }
            #expect(output.isEmpty)
        }
    }

    @Test
    func `events that come meanwhile stand behind those that were put aside`() {
        var output = self.output([(1, "b1"), (0, "a1")])
        #expect(output.putAside())
        output.deliver(.message(InboundMessage(event: "b2", payload: .empty)), to: 1)
        output.takeBack()
        #expect(self.take(1, from: &output) == ["b1", "b2"] && self.take(0, from: &output) == ["a1"])
    }

    @Test
    func `nothing is put aside while a frame waits or the stream ends, nor without end`() {
        var output = self.output([(1, "b1")])
        output.send { $0.append(1) }
        #expect(!output.putAside())
        output.frames = []
        output.close = LinkspanError(.connectionLost, "lost")
        #expect(!output.putAside() && output.nextNamespace == 1)
        var many = self.output((0..<100).map { (1, "\($0)") })
        var count = 0
        while many.putAside() { count += 1 }
        many.takeBack()
        #expect(count == 64 && self.take(1, from: &many) == (0..<100).map { "\($0)" })
    }
}
