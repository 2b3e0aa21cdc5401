/// The identity of a connection at its server: its credential source, and the settings of its transport that identify
/// it.
///
/// Opaque: it can be compared and hashed, and prints no secret. Whatever connections share below the pool, such as a
/// socket, cookies or a session to resume, they share only within one identity.
public struct ConnectionIdentity: Sendable, Hashable {
    let source: CredentialSource
    private let settings: [String: Secret]

    /// - Parameters:
    ///   - source: the credential source.
    ///   - settings: the settings of the transport that identify the client.
    init(_ source: CredentialSource, settings: [String: Secret]) {
        self.source = source
        self.settings = settings
    }

    /// The identity of one link that is made without a connection.
    init(_ credentials: Credentials) {
        self.source = .fixed(credentials)
        self.settings = [:]
    }

    /// Whether the server is shown nothing that tells who connects.
    var isAnonymous: Bool { self.source.isNone && self.settings.isEmpty }
}
