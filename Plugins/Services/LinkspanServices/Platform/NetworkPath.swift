internal import LinkspanLifecycle

/// An address of a network interface.
struct InterfaceAddress: Sendable, Hashable {
    static let up: UInt32 = 0x1
    static let loopback: UInt32 = 0x8
    /// The cable is plugged in, or the radio connected.
    static let running: UInt32 = 0x40

    var name: String
    var flags: UInt32
    /// The 4 or 16 bytes of the address.
    var bytes: [UInt8]

    /// Whether the address may reach other networks, which a link-local one does not.
    var isUsable: Bool {
        let isLinkLocal =
            self.bytes.count == 4
            ? self.bytes.starts(with: [169, 254])
            : self.bytes.starts(with: [0xFE]) && self.bytes.dropFirst().first.map { $0 >> 6 } == 2
        return self.flags & (Self.up | Self.running | Self.loopback) == Self.up | Self.running && !isLinkLocal
    }

    /// The kind of the interface, by the names that systemd and the kernel give.
    var kind: NetworkEvent.Interface {
        if ["en", "eth"].contains(where: { self.name.hasPrefix($0) }) { return .wired }
        if self.name.hasPrefix("wl") { return .wifi }
        if ["ww", "rmnet"].contains(where: { self.name.hasPrefix($0) }) { return .cellular }
        return .other
    }
}

/// The network path of a machine, by the addresses of its interfaces.
struct NetworkPath: Sendable {
    private var last: NetworkEvent?

    /// The path, if it is another than before: interfaces are listed by kind, best first.
    mutating func changed(to addresses: [InterfaceAddress]) -> NetworkEvent? {
        let kinds = Set(addresses.filter(\.isUsable).map(\.kind))
        let interfaces = [.wired, .wifi, .cellular, .other].filter { kinds.contains($0) }
        let event = NetworkEvent(
            status: interfaces.isEmpty ? .unsatisfied : .satisfied, interfaces: interfaces,
            isExpensive: interfaces.first == .cellular)
        guard event != self.last else { return nil }
        self.last = event
        return event
    }
}
