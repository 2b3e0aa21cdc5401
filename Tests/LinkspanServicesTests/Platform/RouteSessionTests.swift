internal import LinkspanLifecycle
@testable import LinkspanServices
internal import Testing

@Suite("The network path by rtnetlink")
struct RouteSessionTests {
    /// A session that has been told of one interface without an address.
    private func session(_ name: String = "eth0", flags: UInt32 = 0x43) -> RouteSession {
        var session = RouteSession()
        #expect(session.begin() == .links)
        #expect(session.receive(Packet.link(1, flags: 0x49, "lo") + Packet.link(2, flags: flags, name)).event == nil)
        #expect(session.receive(Packet.done) == RouteSession.Outcome(question: .addresses))
        return session
    }

    @Test
    func `no path is reported before both answers are there`() {
        var session = self.session()
        #expect(session.receive(Packet.address(2, [192, 0, 2, 1])).event == nil)
        #expect(
            session.receive(Packet.done).event == NetworkEvent(status: .satisfied, interfaces: [.wired]))
    }

    @Test
    func `the path is away without an interface that is up, runs and has an address`() {
        let loopback = Packet.address(1, [127, 0, 0, 1], scope: 254)
        let own = Packet.address(2, [192, 0, 2, 1])
        let cases: [(flags: UInt32, addresses: [UInt8])] = [
            (0x43, []), (0x43, loopback), (0x43, Packet.address(2, [169, 254, 0, 1], scope: 253)), (0x03, own),
            (0x42, own), (0x4b, own), (0x43, Packet.address(1, [192, 0, 2, 1])),
        ]
        for (flags, addresses) in cases {
            var session = self.session(flags: flags)
            #expect(session.receive(addresses + Packet.done).event == NetworkEvent(status: .unsatisfied))
        }
    }

    @Test
    func `each change is reported once: cable, address, interface`() {
        var session = self.session()
        let address = Packet.address(2, [192, 0, 2, 1])
        _ = session.receive(address + Packet.done)
        let away = NetworkEvent(status: .unsatisfied)
        let back = NetworkEvent(status: .satisfied, interfaces: [.wired])
        #expect(session.receive(address) == RouteSession.Outcome())
        #expect(session.receive(Packet.link(2, flags: 0x03, "eth0")).event == away)
        #expect(session.receive(Packet.link(2, flags: 0x03, "eth0")).event == nil)
        #expect(session.receive(Packet.link(2, flags: 0x43, "eth0")).event == back)
        #expect(session.receive(Packet.address(2, [192, 0, 2, 1], isGone: true)).event == away)
        #expect(session.receive(address).event == back)
        #expect(session.receive(Packet.linkGone(2)).event == away)
        #expect(session.receive(Packet.link(2, flags: 0x43, "eth0")).event == nil, "its addresses went with it")
    }

    @Test
    func `interfaces are listed best first, by kind`() {
        var session = self.session("wwan0")
        _ = session.receive(Packet.address(2, [192, 0, 2, 1]) + Packet.done)
        var last: NetworkEvent?
        for (index, name) in [(3, "wg0"), (4, "wlp3s0"), (5, "enp2s0")] as [(UInt32, String)] {
            _ = session.receive(Packet.link(index, flags: 0x43, name))
            last = session.receive(Packet.address(index, [192, 0, 2, UInt8(index)])).event
        }
        #expect(last?.interfaces == [.wired, .wifi, .cellular, .other])
        #expect(last?.isExpensive == false)
    }

    @Test
    func `after messages were lost everything is asked for again, once the kernel has time`() {
        var session = self.session()
        _ = session.receive(Packet.address(2, [192, 0, 2, 1]) + Packet.done)
        #expect(session.receive(Packet.message(4, [])).question == .links)
        #expect(session.receive(Packet.message(2, [0xf0, 0xff, 0xff, 0xff])) == RouteSession.Outcome())
        #expect(session.receive(Packet.done).question == .links)
        #expect(session.receive(Packet.link(2, flags: 0x43, "eth0") + Packet.done).question == .addresses)
        #expect(session.receive(Packet.done).event == NetworkEvent(status: .unsatisfied))
    }

    @Test
    func `another refusal ends it`() {
        var session = RouteSession()
        #expect(session.receive(Packet.message(2, [0xff, 0xff, 0xff, 0xff])).failure == 1)
    }
}
