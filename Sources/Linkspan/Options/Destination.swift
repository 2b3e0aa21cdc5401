internal import LinkspanRuntime

/// The endpoint of a connection, its transport and its options.
///
/// It never changes; a connection that moves gets another one.
final class Destination: Sendable {
    let url: ConnectionURL
    let transport: any Transport
    let sharedOptions: Boxed<ConnectionOptions>
    let identity: ConnectionIdentity
    /// The text that a former process left to resume its session from.
    let resumption: Secret?
    /// The number of log-outs of the source when the app asked for this place.
    let login: UInt64

    init(_ configuration: ConnectionConfiguration) {
        self.url = configuration.url
        self.transport = configuration.transport
        self.sharedOptions = configuration.sharedOptions
        self.resumption = configuration.resumption
        self.identity = configuration.identity
        self.login = configuration.identity.source.login
    }

    /// The same place by other rules.
    init(_ former: Destination, options: ConnectionOptions) {
        self.url = former.url
        self.transport = former.transport
        self.sharedOptions = Boxed(options)
        self.resumption = former.resumption
        self.identity = former.identity
        self.login = former.login
    }

    var source: CredentialSource { self.identity.source }

    /// The behaviour, which is read where it is.
    var options: ConnectionOptions { _read { yield self.sharedOptions.value } }
}
