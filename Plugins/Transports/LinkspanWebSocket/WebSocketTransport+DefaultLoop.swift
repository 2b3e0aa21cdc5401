private import LinkspanBackEnds

extension WebSocketTransport {
    /// Makes a transport whose sockets run on the loop that the process shares.
    ///
    /// - Parameter configuration: how it behaves.
    public init(_ configuration: WebSocketConfiguration = .init()) {
        self.init(configuration, loop: configuration.network.sharedLoop)
    }
}
