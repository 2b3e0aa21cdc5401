private import LinkspanBackEnds
internal import LinkspanNetwork

extension SocketIOTransport {
    /// Makes a transport whose sockets run on the loop that the process shares.
    ///
    /// Links of all these transports share sockets.
    ///
    /// - Parameter configuration: how it behaves.
    public init(_ configuration: SocketIOConfiguration = .init()) {
        self.init(configuration, engines: .shared(configuration.network))
    }
}

extension SocketIOEngines {
    private static let shared = NetworkBackEnd.builtIn.reduce(into: [:]) { engines, network in
        engines[network] = SocketIOEngines(loop: network.sharedLoop)
    }

    /// Those of the loop that the process shares.
    static func shared(_ network: NetworkBackEnd) -> SocketIOEngines {
        Self.shared[network] ?? SocketIOEngines(loop: network.sharedLoop)
    }
}
