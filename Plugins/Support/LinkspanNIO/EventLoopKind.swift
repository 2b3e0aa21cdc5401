#if NIO
internal import LinkspanNetwork
internal import NIOCore
internal import NIOPosix
#if canImport(NIOTransportServices) && canImport(Network)
private import Network
private import NIOTransportServices
#endif

/// The event loops of SwiftNIO that a loop can run on, and the differences between them.
package enum EventLoopKind: Sendable {
    /// NIOPosix on the loop's own thread, which has the loop's name.
    case ownThread
    /// NIOPosix on a thread of its own. For tests, which prove with it the loop that is entered turn by turn.
    case group
    #if canImport(NIOTransportServices) && canImport(Network)
    /// NIOTransportServices, a queue over Network.framework.
    case transportServices
    #endif

    /// The kind that loops have unless they are to use sockets.
    static var standard: Self {
        #if canImport(NIOTransportServices) && canImport(Network)
        .transportServices
        #else
        .ownThread
        #endif
    }

    /// Whether a loop uses the system's sockets; a loop over Network.framework does not, and cannot listen.
    var usesSockets: Bool {
        switch self {
        case .ownThread, .group: true
        #if canImport(NIOTransportServices) && canImport(Network)
        case .transportServices: false
        #endif
        }
    }

    /// Starts one event loop; nil if it is to run on the loop's own thread.
    func makeGroup() -> (any EventLoopGroup)? {
        switch self {
        case .ownThread: nil
        case .group: MultiThreadedEventLoopGroup(numberOfThreads: 1)
        #if canImport(NIOTransportServices) && canImport(Network)
        case .transportServices: NIOTSEventLoopGroup(loopCount: 1)
        #endif
        }
    }
}

// MARK: - Dialing

extension EventLoopKind {
    /// The peer of a connection.
    struct Destination: Sendable {
        /// A numeric address, or the name of a host for Network.framework, or the path of a socket.
        var address: String
        /// Nil for a path.
        var port: Int?
        /// Whether this is a proxy of the app's own choice; the system's proxies are then not used.
        var isProxy: Bool
    }

    /// SwiftNIO's own limit for TCP; beyond any deadline of ours.
    private static let connectTimeout = TimeAmount.seconds(120)

    /// Connects; `initialize` is given the channel before that, in this turn or a later one.
    func dial(
        _ destination: Destination, on eventLoop: any NIOCore.EventLoop,
        initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        switch self {
        case .ownThread: Self.dialSocket(destination, on: eventLoop, initialize: initialize)
        case .group: eventLoop.flatSubmit { Self.dialSocket(destination, on: eventLoop, initialize: initialize) }
        #if canImport(NIOTransportServices) && canImport(Network)
        case .transportServices: Self.dialNetwork(destination, on: eventLoop, initialize: initialize)
        #endif
        }
    }

    private static func dialSocket(
        _ destination: Destination, on eventLoop: any NIOCore.EventLoop,
        initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        let address =
            if let port = destination.port {
                try? SocketAddress.makeAddressResolvingHost(destination.address, port: port)
            } else {
                try? SocketAddress(unixDomainSocketPath: destination.address)
            }
        guard let address else { return eventLoop.makeFailedFuture(NotAnAddress(text: destination.address)) }
        var bootstrap = ClientBootstrap(group: eventLoop)
        if destination.port != nil { bootstrap = bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1) }
        return
            bootstrap
            .channelOption(.maxMessagesPerRead, value: Connection.readsInARow)
            .channelOption(.recvAllocator, value: Connection.readAllocator)
            .connectTimeout(Self.connectTimeout)
            .channelInitializer(initialize)
            .connect(to: address)
    }

    #if canImport(NIOTransportServices) && canImport(Network)
    /// The most bytes of one read.
    private static let longestRead = 64 * 1024

    private static func dialNetwork(
        _ destination: Destination, on eventLoop: any NIOCore.EventLoop,
        initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        // Other options than these and the automatic reading are fatal errors there; it sets TCP_NODELAY itself.
        let bootstrap = NIOTSConnectionBootstrap(group: eventLoop)
            // A path without a route fails at once, and the connection's own attempts follow it.
            .channelOption(NIOTSChannelOptions.waitForActivity, value: false)
            .channelOption(NIOTSChannelOptions.maximumReceiveLength, value: Self.longestRead)
            .connectTimeout(Self.connectTimeout)
            .configureNWParameters { $0.preferNoProxies = destination.isProxy }
            .channelInitializer(initialize)
        guard let port = destination.port else { return bootstrap.connect(unixDomainSocketPath: destination.address) }
        return bootstrap.connect(host: destination.address, port: port)
    }
    #endif

    private struct NotAnAddress: Error, CustomStringConvertible {
        let text: String

        var description: String { "\(self.text) is not an address" }
    }
}
#endif
