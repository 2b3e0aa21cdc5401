internal import LinkspanLifecycle
internal import LinkspanTesting
internal import Testing

@testable import LinkspanServices

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

/// Messages as the kernel writes them, on a machine that puts the low byte first.
enum Packet {
    static let done = Packet.message(3, [0, 0, 0, 0])

    static func message(_ kind: UInt16, _ body: [UInt8]) -> [UInt8] {
        Self.bytes(UInt32(16 + body.count)) + Self.bytes(kind) + Array(repeating: 0, count: 10) + body
            + Array(repeating: 0, count: (4 - body.count % 4) % 4)
    }

    static func link(_ index: UInt32, flags: UInt32, _ name: String) -> [UInt8] {
        Self.message(16, Self.head(index, flags) + Self.attribute(3, Array(name.utf8) + [0]))
    }

    static func linkGone(_ index: UInt32) -> [UInt8] { Self.message(17, Self.head(index, 0)) }

    static func address(_ index: UInt32, _ address: [UInt8], scope: UInt8 = 0, isGone: Bool = false) -> [UInt8] {
        let head = [2, 24, 0, scope] + Self.bytes(index)
        return Self.message(isGone ? 21 : 20, head + Self.attribute(1, address) + Self.attribute(2, address))
    }

    private static func head(_ index: UInt32, _ flags: UInt32) -> [UInt8] {
        [0, 0, 1, 0] + Self.bytes(index) + Self.bytes(flags) + [0xff, 0xff, 0xff, 0xff]
    }

    private static func attribute(_ kind: UInt16, _ value: [UInt8]) -> [UInt8] {
        Self.bytes(UInt16(4 + value.count)) + Self.bytes(kind) + value
            + Array(repeating: 0, count: (4 - value.count % 4) % 4)
    }

    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}

/// Answers of a Linux kernel, recorded on x86-64.
enum Recorded {
    /// The loopback and one Ethernet interface; only the first four attributes of each are left.
    static let links: [UInt8] = [
        0x40, 0, 0, 0, 0x10, 0, 2, 0, 1, 0, 0, 0, 0x3a, 0x75, 0, 0, 0, 0, 4, 3, 1, 0, 0, 0, 0x49, 0, 1, 0, 0, 0, 0,
        0, 7, 0, 3, 0, 0x6c, 0x6f, 0, 0, 8, 0, 0x0d, 0, 0xe8, 3, 0, 0, 5, 0, 0x10, 0, 0, 0, 0, 0, 5, 0, 0x11, 0, 0,
        0, 0, 0, 0x44, 0, 0, 0, 0x10, 0, 2, 0, 1, 0, 0, 0, 0x3a, 0x75, 0, 0, 0, 0, 1, 0, 4, 0, 0, 0, 0x43, 0x10, 1,
        0, 0, 0, 0, 0, 9, 0, 3, 0, 0x65, 0x74, 0x68, 0x30, 0, 0, 0, 0, 8, 0, 0x0d, 0, 0xe8, 3, 0, 0, 5, 0, 0x10, 0,
        6, 0, 0, 0, 5, 0, 0x11, 0, 0, 0, 0, 0,
    ]

    /// An address of the loopback, and two of the Ethernet interface.
    static let addresses: [UInt8] = [
        0x4c, 0, 0, 0, 0x14, 0, 2, 0, 1, 0, 0, 0, 0x3a, 0x75, 0, 0, 2, 8, 0x80, 0xfe, 1, 0, 0, 0, 8, 0, 1, 0, 0x7f,
        0, 0, 1, 8, 0, 2, 0, 0x7f, 0, 0, 1, 7, 0, 3, 0, 0x6c, 0x6f, 0, 0, 8, 0, 8, 0, 0x80, 0, 0, 0, 0x14, 0, 6, 0,
        0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x15, 0, 0, 0, 0x15, 0, 0, 0, 0x58, 0, 0, 0, 0x14, 0, 2, 0,
        1, 0, 0, 0, 0x3a, 0x75, 0, 0, 2, 0x18, 0x80, 0, 4, 0, 0, 0, 8, 0, 1, 0, 0xc0, 0, 2, 2, 8, 0, 2, 0, 0xc0, 0,
        2, 2, 8, 0, 4, 0, 0xc0, 0, 2, 0xff, 9, 0, 3, 0, 0x65, 0x74, 0x68, 0x30, 0, 0, 0, 0, 8, 0, 8, 0, 0x80, 0, 0,
        0, 0x14, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x15, 0, 0, 0, 0x15, 0, 0, 0, 0x50, 0, 0,
        0, 0x14, 0, 2, 0, 1, 0, 0, 0, 0x3a, 0x75, 0, 0, 0x0a, 0x40, 0x80, 0xfd, 4, 0, 0, 0, 0x14, 0, 1, 0, 0xfe,
        0x80, 0, 0, 0, 0, 0, 0, 0, 0xfc, 0, 0xff, 0xfe, 0, 0, 1, 0x14, 0, 6, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        0xff, 0xff, 0x15, 0, 0, 0, 0x15, 0, 0, 0, 8, 0, 8, 0, 0x80, 0, 0, 0, 5, 0, 0x0b, 0, 3, 0, 0, 0,
    ]
}
