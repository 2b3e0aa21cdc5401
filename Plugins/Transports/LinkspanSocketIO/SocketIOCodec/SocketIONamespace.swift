package import Linkspan

/// The name of a namespace, checked once, in the form in which packets carry it.
package struct SocketIONamespace: Sendable, Hashable {
    /// The main namespace, which packets do not name.
    package static let main = Self(name: "/", prefix: [])
    /// The longest name.
    static let maximumLength = 256

    /// The name, such as `/chat`.
    package let name: String
    /// The part of a packet between its type and its acknowledgement id: `/chat,`, or nothing for `/`.
    package let prefix: [UInt8]

    /// Checks a name.
    ///
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration` when the name cannot be written into a packet: it must
    ///   begin with `/` and be printable ASCII without a comma. A query is refused as well, because servers of
    ///   protocol v5 take it for a part of the name.
    package init(_ name: String) throws(LinkspanError) {
        guard name != "/", !name.isEmpty else {
            self = .main
            return
        }
        let isClean = name.utf8.allSatisfy { byte in
            byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ",") && byte != UInt8(ascii: "?")
        }
        guard name.utf8.first == UInt8(ascii: "/"), isClean, name.utf8.count <= Self.maximumLength else {
            throw LinkspanError(
                .invalidConfiguration,
                "a namespace begins with / and has at most \(Self.maximumLength) printable ASCII characters, "
                    + "none of them a comma or a question mark")
        }
        self.init(name: name, prefix: Array(name.utf8) + [UInt8(ascii: ",")])
    }

    private init(name: String, prefix: [UInt8]) {
        self.name = name
        self.prefix = prefix
    }

    /// Whether it is `/`.
    var isMain: Bool { self.prefix.isEmpty }

    /// Whether a packet's namespace, given without the comma and empty for `/`, is this one.
    func matches(_ written: ArraySlice<UInt8>) -> Bool {
        guard !written.isEmpty else { return self.prefix.isEmpty }
        return written.count &+ 1 == self.prefix.count && self.prefix.starts(with: written)
    }
}
