internal import LinkspanLifecycle
internal import Testing

@testable import LinkspanServices

@Suite("The network path by addresses")
struct RouteTests {
    private func address(
        _ bytes: [UInt8] = [192, 0, 2, 1], flags: UInt32 = 0x43, name: String = "eth0"
    ) -> InterfaceAddress {
        InterfaceAddress(name: name, flags: flags, bytes: bytes)
    }

    @Test
    func `the path is away without an interface that is up, runs and has an address`() {
        let linkLocal: [UInt8] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0xfc, 0, 0xff, 0xfe, 0, 0, 1]
        let cases = [
            [], [self.address([127, 0, 0, 1], flags: 0x49, name: "lo")], [self.address([169, 254, 0, 1])],
            [self.address(linkLocal)], [self.address(flags: 0x03)], [self.address(flags: 0x42)],
            [self.address(flags: 0x4b)],
        ]
        for addresses in cases {
            var path = NetworkPath()
            #expect(path.changed(to: addresses) == NetworkEvent(status: .unsatisfied))
        }
    }

    @Test(arguments: [
        [192, 0, 2, 1], [169, 1, 2, 3], [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
        // Neither byte of the prefix of link-local addresses is enough.
        [0xfe, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0x20, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    ])
    func `an interface that is up, runs and has an address is a path`(bytes: [UInt8]) {
        var path = NetworkPath()
        #expect(
            path.changed(to: [self.address(bytes)]) == NetworkEvent(status: .satisfied, interfaces: [.wired]))
    }

    @Test
    func `each change is reported once: cable, address`() {
        var path = NetworkPath()
        let back = NetworkEvent(status: .satisfied, interfaces: [.wired])
        #expect(path.changed(to: [self.address()]) == back)
        #expect(path.changed(to: [self.address([192, 0, 2, 2])]) == nil)
        #expect(path.changed(to: [self.address(flags: 0x03)]) == NetworkEvent(status: .unsatisfied))
        #expect(path.changed(to: [self.address(flags: 0x03)]) == nil)
        #expect(path.changed(to: [self.address()]) == back)
        #expect(path.changed(to: []) == NetworkEvent(status: .unsatisfied))
    }

    @Test
    func `interfaces are listed best first, by kind`() {
        var path = NetworkPath()
        let names = ["wwan0", "wg0", "wlp3s0", "enp2s0"]
        let event = path.changed(to: names.map { self.address(name: $0) })
        #expect(event?.interfaces == [.wired, .wifi, .cellular, .other])
        #expect(event?.isExpensive == false)
        #expect(path.changed(to: [self.address(name: "rmnet0")])?.isExpensive == true)
    }
}
