internal import LinkspanRuntime

/// The endpoint of a connection, its transport and its options.
///
/// It never changes; a connection that moves gets another one.
final class Destination: Sendable {
    let configuration: ConnectionConfiguration
    /// The number of log-outs of the source when the app asked for this place.
    let login: UInt64

    init(_ configuration: ConnectionConfiguration) {
        self.configuration = configuration
        self.login = configuration.credentials.login
    }

    /// The same place by other rules.
    init(_ former: Destination, options: ConnectionOptions) {
        var configuration = former.configuration
        configuration.sharedOptions = Boxed(options)
        self.configuration = configuration
        self.login = former.login
    }

    var url: ConnectionURL { self.configuration.url }
    var transport: any Transport { self.configuration.transport }
    var identity: ConnectionIdentity { self.configuration.identity }
    /// The text that a former process left to resume its session from.
    var resumption: Secret? { self.configuration.resumption }
    var source: CredentialSource { self.identity.source }

    /// The behaviour, which is read where it is.
    var options: ConnectionOptions { _read { yield self.configuration.sharedOptions.value } }
}
