/// A message of the Linux kernel about interfaces and addresses, after rtnetlink(7).
///
/// Bytes in, values out: reading never traps, whatever the bytes are.
enum RouteMessage: Sendable, Hashable {
    /// An interface is there, or has changed.
    case link(UInt32, RouteLink)
    /// An interface has gone.
    case linkGone(UInt32)
    /// An interface has an address.
    case address(UInt32, RouteAddress)
    /// An interface has an address no more.
    case addressGone(UInt32, RouteAddress)
    /// The answer to the request is complete.
    case done
    /// The request is refused, with the number of the error.
    case refused(Int32)
    /// The kernel has dropped messages.
    case overrun
}

/// An interface.
struct RouteLink: Sendable, Hashable {
    var flags: UInt32
    var name: String

    static let up: UInt32 = 0x1
    static let loopback: UInt32 = 0x8
    static let running: UInt32 = 0x40

    /// Whether it could carry traffic to elsewhere.
    var isUsable: Bool {
        let wanted = Self.up | Self.running
        return self.flags & wanted == wanted && self.flags & Self.loopback == 0
    }
}

/// An address of an interface.
struct RouteAddress: Sendable, Hashable {
    var scope: UInt8
    var bytes: [UInt8]

    /// Whether it is more than link-local; link-local addresses exist without a network.
    var isRoutable: Bool { self.scope < 253 }
}

extension RouteMessage {
    private enum Kind {
        static let error: UInt16 = 2
        static let done: UInt16 = 3
        static let overrun: UInt16 = 4
        static let newLink: UInt16 = 16
        static let deleteLink: UInt16 = 17
        static let newAddress: UInt16 = 20
        static let deleteAddress: UInt16 = 21
    }

    private enum Attribute {
        static let interfaceName: UInt16 = 3
        static let address: UInt16 = 1
        static let localAddress: UInt16 = 2
    }

    static let headerSize = 16

    /// Reads the messages of one datagram; truncated ones and other kinds are skipped.
    static func read(_ bytes: [UInt8]) -> [RouteMessage] {
        var messages: [RouteMessage] = []
        var rest = bytes[...]
        while let length = rest.number(UInt32.self, at: 0), let kind = rest.number(UInt16.self, at: 4) {
            let length = Int(length)
            guard length >= Self.headerSize, length <= rest.count else { break }
            if let message = Self.read(kind, rest.dropFirst(Self.headerSize).prefix(length - Self.headerSize)) {
                messages.append(message)
            }
            rest = rest.dropFirst(length.alignedToFour)
        }
        return messages
    }

    private static func read(_ kind: UInt16, _ body: ArraySlice<UInt8>) -> RouteMessage? {
        switch kind {
        case Kind.newLink, Kind.deleteLink:
            guard let index = body.number(UInt32.self, at: 4), let flags = body.number(UInt32.self, at: 8) else {
                return nil
            }
            guard kind == Kind.newLink else { return .linkGone(index) }
            let name = body.attributes(after: 16)[Attribute.interfaceName] ?? []
            return .link(index, RouteLink(flags: flags, name: String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)))
        case Kind.newAddress, Kind.deleteAddress:
            guard let scope = body.number(UInt8.self, at: 3), let index = body.number(UInt32.self, at: 4) else {
                return nil
            }
            let attributes = body.attributes(after: 8)
            guard let bytes = attributes[Attribute.localAddress] ?? attributes[Attribute.address] else { return nil }
            let address = RouteAddress(scope: scope, bytes: Array(bytes))
            return kind == Kind.newAddress ? .address(index, address) : .addressGone(index, address)
        case Kind.error:
            // Zero is no error but a receipt.
            guard let code = body.number(Int32.self, at: 0), code != 0 else { return nil }
            return .refused(code == .min ? .max : -code)
        case Kind.done: return .done
        case Kind.overrun: return .overrun
        default: return nil
        }
    }
}

extension ArraySlice<UInt8> {
    /// A number in the byte order of the machine; nil when there are not bytes enough.
    fileprivate func number<Number: FixedWidthInteger>(_ type: Number.Type, at offset: Int) -> Number? {
        guard self.count >= offset + MemoryLayout<Number>.size else { return nil }
        return self.withUnsafeBytes { $0.loadUnaligned(fromByteOffset: offset, as: type) }
    }

    /// The attributes behind a header of `offset` bytes, by kind.
    fileprivate func attributes(after offset: Int) -> [UInt16: ArraySlice<UInt8>] {
        var attributes: [UInt16: ArraySlice<UInt8>] = [:]
        var rest = self.dropFirst(offset)
        while let length = rest.number(UInt16.self, at: 0), let kind = rest.number(UInt16.self, at: 2) {
            let length = Int(length)
            guard length >= 4, length <= rest.count else { break }
            attributes[kind] = rest.dropFirst(4).prefix(length - 4)
            rest = rest.dropFirst(length.alignedToFour)
        }
        return attributes
    }
}

extension Int {
    fileprivate var alignedToFour: Int { (self + 3) & ~3 }
}
