internal import LinkspanRuntime

/// Credentials for one attempt to connect, for any transport.
///
/// Compared by content, secrets included.
public struct Credentials: Sendable, Hashable {
    private struct Parts: Sendable, Hashable {
        var auth: Payload?
        var headers: [Field]
        var query: [Field]
        var url: ConnectionURL?
        var validFor: Duration?

        static let none = Boxed(Parts(headers: [], query: []))
    }

    // Requests, sources and identities of every connection have room for credentials, and most have none of their own.
    private var parts: Boxed<Parts>

    /// The payload for the handshake of the messaging protocol: the auth payload of Socket.IO, the first frame of the
    /// raw WebSocket envelope.
    ///
    /// At most one argument.
    public var auth: Payload? {
        get { self.parts.value.auth }
        set { self.parts.value.auth = newValue }
    }
    /// Extra HTTP headers of the upgrade request, such as `Authorization`.
    public var headers: [Field] {
        get { self.parts.value.headers }
        set { self.parts.value.headers = newValue }
    }
    /// Extra query items of the request.
    ///
    /// Prefer ``auth`` or ``headers``: queries end up in server logs.
    public var query: [Field] {
        get { self.parts.value.query }
        set { self.parts.value.query = newValue }
    }
    /// The URL to connect to instead of the configured one: a signed URL, or the host of a region.
    ///
    /// Default nil: the configured one. All of it counts, the path included. The scheme must be one that the transport
    /// carries, and must keep TLS; otherwise the attempt fails permanently with code `invalidURL`. The pool goes on
    /// knowing the connection by its configured URL.
    public var url: ConnectionURL? {
        get { self.parts.value.url }
        set { self.parts.value.url = newValue }
    }
    /// The lifetime of the credentials, counted from the provider's answer.
    ///
    /// Default nil: not known. When it is known, attempts in the first four fifths of that time use the credentials
    /// again without asking the provider, and a connection that is up has them renewed ahead of time; see
    /// ``CredentialRequest/Reason/expiring``.
    public var validFor: Duration? {
        get { self.parts.value.validFor }
        set { self.parts.value.validFor = newValue }
    }

    /// Makes credentials; without arguments, empty ones.
    public init(
        auth: Payload? = nil, headers: [Field] = [], query: [Field] = [], url: ConnectionURL? = nil,
        validFor: Duration? = nil
    ) {
        let isEmpty = auth == nil && headers.isEmpty && query.isEmpty && url == nil && validFor == nil
        self.parts =
            isEmpty
            ? Parts.none : Boxed(Parts(auth: auth, headers: headers, query: query, url: url, validFor: validFor))
    }

    /// Makes credentials from a value that is sent as the auth payload.
    ///
    /// - Parameters:
    ///   - value: the payload.
    ///   - validFor: how long the credentials are good, when that is known.
    /// - Throws: ``LinkspanError`` with code `encodingFailed`.
    public init(auth value: some Encodable, validFor: Duration? = nil) throws(LinkspanError) {
        self.init(auth: try Payload(value), validFor: validFor)
    }

    /// The standard name of the event that shows renewed credentials to a server over an open link: `linkspan.renew`.
    ///
    /// Its only argument is the new ``auth`` payload, and it asks for no reply. A server that accepts them goes on; one that
    /// does not ends the link as it refuses credentials, over a raw WebSocket with close code 4401. A network transport
    /// sends it when `renewalEvent` of its configuration names it.
    public static let renewalEvent = "linkspan.renew"

    /// A header or a query item: a name and a secret value, in a query not yet percent-encoded.
    public struct Field: Sendable, Hashable {
        /// The field's name.
        public var name: String
        /// The field's value.
        public var value: Secret

        /// Makes a field.
        public init(_ name: String, _ value: Secret) {
            self.name = name
            self.value = value
        }
    }
}

extension Credentials: Redacted {
    /// The kinds of credentials and the names of fields, never their values.
    public var description: String {
        "credentials(auth: \(self.auth == nil ? "none" : "<redacted>"), headers: \(self.headers.map(\.name)), "
            + "query: \(self.query.map(\.name))\(self.url.map { ", url: \($0.description)" } ?? "")"
            + "\(self.validFor.map { ", valid for: \($0)" } ?? ""))"
    }
}
