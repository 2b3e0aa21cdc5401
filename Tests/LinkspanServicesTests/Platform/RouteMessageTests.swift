@testable import LinkspanServices
internal import LinkspanTesting
internal import Testing

@Suite("Messages of the kernel about interfaces")
struct RouteMessageTests {
    /// `ip link` and `ip addr` on a machine with the loopback and one Ethernet interface, as the kernel told them.
    @Test
    func `a recorded answer is read`() {
        #expect(
            RouteMessage.read(Recorded.links) == [
                .link(1, RouteLink(flags: 0x1_0049, name: "lo")), .link(4, RouteLink(flags: 0x1_1043, name: "eth0")),
            ])
        #expect(
            RouteMessage.read(Recorded.addresses) == [
                .address(1, RouteAddress(scope: 254, bytes: [127, 0, 0, 1])),
                .address(4, RouteAddress(scope: 0, bytes: [192, 0, 2, 2])),
                .address(
                    4, RouteAddress(scope: 253, bytes: [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0xfc, 0, 0xff, 0xfe, 0, 0, 1])),
            ])
    }

    @Test
    func `other kinds, receipts and what is cut off are left out`() {
        let link = Packet.link(2, flags: 0x43, "eth0")
        let address = Packet.address(2, [192, 0, 2, 1])
        #expect(RouteMessage.read(Packet.message(24, []) + Packet.message(2, [0, 0, 0, 0]) + Packet.done) == [.done])
        #expect(RouteMessage.read(Packet.message(2, [0xf0, 0xff, 0xff, 0xff])) == [.refused(16)])
        #expect(RouteMessage.read(Packet.message(4, [])) == [.overrun])
        for length in 0..<(link + address).count {
            let read = RouteMessage.read(Array((link + address).prefix(length)))
            #expect(read.count == (length < link.count ? 0 : 1))
        }
    }

    @Test
    func `no bytes make it trap, and lengths that lie end the reading`() {
        var generator = SeededGenerator(seed: 20_26)
        let whole = Recorded.links + Recorded.addresses + Packet.message(17, Array(repeating: 1, count: 16))
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            var session = RouteSession()
            _ = session.receive(bytes)
            _ = session.receive(Array(bytes.prefix(Int.random(in: 0...bytes.count, using: &generator))))
        }
        for length: UInt8 in [0, 1, 15, 17, 255] {
            var bytes = Packet.link(2, flags: 0x43, "eth0")
            bytes[0] = length
            #expect(RouteMessage.read(bytes).isEmpty || length == 17)
        }
        #expect(RouteMessage.read(Packet.message(2, [0, 0, 0, 0x80])) == [.refused(.max)])
    }
}
