private import CLinkspanRuntime

/// Recognition of numeric addresses.
public enum NumericAddress {
    /// Whether a text is an IPv4 address.
    public static func isIPv4(_ text: String) -> Bool {
        var address = in_addr()
        return inet_pton(AF_INET, text, &address) == 1
    }

    /// Whether a text is an IPv6 address, without brackets.
    public static func isIPv6(_ text: String) -> Bool {
        var address = in6_addr()
        return inet_pton(AF_INET6, text, &address) == 1
    }
}
