internal import LinkspanRuntime

/// Builds a configuration step by step.
///
/// The first step is the URL, the second the transport; only then are there options to set and something to build. So a
/// configuration that lacks either does not compile.
///
/// ```swift
/// let connection = try ConnectionBuilder("https://chat.example")
///     .transport(.socketIO)
///     .credentials(.fixed(Credentials(auth: ["token": token])))
///     .connect()
/// ```
public struct ConnectionBuilder: Sendable {
    private let url: String

    /// Begins with an endpoint.
    public init(_ url: String) { self.url = url }

    /// Sets the transport.
    public func transport(_ transport: some Transport) -> WithTransport {
        WithTransport(url: self.url, transport: transport)
    }

    /// A builder that knows endpoint and transport.
    public struct WithTransport: Sendable {
        private let url: String
        private let transport: any Transport
        // Connections with the defaults share them.
        private var options = Self.defaults
        private var source = CredentialSource.none
        private var resumption: Secret?

        private static let defaults = Boxed(ConnectionOptions())

        init(url: String, transport: any Transport) {
            self.url = url
            self.transport = transport
        }

        /// Sets the source of the credentials.
        ///
        /// Without this step the connection has no credentials.
        public func credentials(_ source: CredentialSource) -> Self {
            self.changed { $0.source = source }
        }

        /// Resumes the session of a former process with the first link, if the server still can.
        ///
        /// ```swift
        /// let kept = connection.status.resumption?.exposed  // before the process ends
        /// ```
        ///
        /// and in the next process:
        ///
        /// ```swift
        /// let connection = try ConnectionBuilder("https://chat.example")
        ///     .transport(.socketIO)
        ///     .resuming(kept.map { Secret($0) })
        ///     .connect()
        /// ```
        ///
        /// - Parameter resumption: the ``ConnectionStatus/resumption`` of that process; nil for a new session. It gives
        ///   access to the session: protect it like a token.
        /// - Returns: the next step.
        public func resuming(_ resumption: Secret?) -> Self {
            self.changed { $0.resumption = resumption }
        }

        /// Changes options.
        public func options(_ configure: (inout ConnectionOptions) -> Void) -> Self {
            self.changed { configure(&$0.options.value) }
        }

        private func changed(_ change: (inout Self) -> Void) -> Self {
            var next = self
            change(&next)
            return next
        }

        /// Checks everything.
        ///
        /// - Throws: ``LinkspanError`` with code `invalidURL` or `invalidConfiguration`.
        public func build() throws(LinkspanError) -> ConnectionConfiguration {
            let url = try ConnectionURL(self.url)
            guard self.transport.schemes.contains(url.scheme) else {
                let known = self.transport.schemes.sorted().joined(separator: ", ")
                throw LinkspanError(
                    .invalidURL,
                    "transport '\(self.transport.name)' does not support '\(url.scheme)' URLs; it supports \(known)")
            }
            if case .fixed(let credentials) = self.source.kind {
                _ = try credentials.endpoint(insteadOf: url, over: self.transport)
            }
            try self.options.value.validate()
            try self.options.value.endpoints.validate(after: url, over: self.transport)
            let configuration = ConnectionConfiguration(
                url: url, transport: self.transport, options: self.options, credentials: self.source,
                resumption: self.resumption)
            guard self.options.value.store == nil || self.source.account != nil || configuration.identity.isAnonymous
            else {
                throw LinkspanError(
                    .invalidConfiguration,
                    "a delivery store needs an account: name one with the credential source")
            }
            return configuration
        }

        /// Builds and connects.
        ///
        /// - Throws: what ``build()`` and ``ConnectionManager/connect(_:)`` throw.
        public func connect(by manager: ConnectionManager = .shared) throws(LinkspanError) -> ConnectionHandler {
            try manager.connect(try self.build())
        }
    }
}
