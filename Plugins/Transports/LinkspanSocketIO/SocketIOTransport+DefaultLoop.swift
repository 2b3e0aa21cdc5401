private import LinkspanLWS

extension SocketIOTransport {
    /// Makes a transport whose sockets run on the loop that the process shares.
    ///
    /// Links of all these transports share sockets.
    ///
    /// - Parameter configuration: how it behaves.
    public init(_ configuration: Configuration = .init()) {
        self.init(configuration, engines: .shared)
    }
}

extension SocketIOEngines {
    /// Those of the loop that the process shares.
    static let shared = SocketIOEngines(loop: EventLoop.shared)
}
