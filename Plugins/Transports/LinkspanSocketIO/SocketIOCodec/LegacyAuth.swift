internal import Linkspan
internal import LinkspanNetwork

/// The form of credentials for servers of Socket.IO 2.x, whose CONNECT has no payload: the query of the namespace.
enum LegacyAuth {
    /// The query for an auth object, whose members have to be texts.
    ///
    /// The main namespace is not asked for, so it has no query of its own. What would have to go into the URL of every
    /// request is left to the app, which knows whether it may.
    static func query(
        of auth: ArraySlice<UInt8>, in namespace: SocketIONamespace
    ) throws(LinkspanError) -> String {
        guard !auth.isEmpty else { return "" }
        guard namespace != .main else {
            throw LinkspanError(
                .invalidConfiguration,
                "servers of Socket.IO 2.x take no auth payload for /: give the token as a header or a query item")
        }
        guard let members = try? Payload(trustedElements: auth).decode([String: String].self) else {
            throw LinkspanError(
                .invalidConfiguration, "for servers of Socket.IO 2.x the members of the auth payload have to be texts")
        }
        return members.sorted { $0.key < $1.key }.map {
            "\(PercentEncoding.escape($0.key))=\(PercentEncoding.escape($0.value))"
        }
        .joined(separator: "&")
    }
}
