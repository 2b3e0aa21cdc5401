private import CLinkspanRuntime

/// Recognition of numeric addresses.
package enum NumericAddress {
    /// Whether a text is an IPv4 address.
    package static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1
    }

    /// Whether a text is an IPv6 address, without brackets.
    package static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }

    /// Orders addresses so that the families take turns, beginning with that of the first (RFC 8305 section 4).
    static func interleaved(_ addresses: [String]) -> [String] {
        let first = addresses.first.map { $0.contains(":") } ?? false
        var own = addresses.filter { $0.contains(":") == first }[...]
        var other = addresses.filter { $0.contains(":") != first }[...]
        var result: [String] = []
        while let address = own.popFirst() {
            result.append(address)
            if let address = other.popFirst() { result.append(address) }
        }
        return result + other
    }
}
