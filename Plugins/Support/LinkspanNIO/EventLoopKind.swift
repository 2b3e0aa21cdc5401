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
        #if canImport(NIOTransportServices) && canImport(Network)
        if case .transportServices = self { return false }
        #endif
        return true
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
    /// One read, one event: an owner that pauses reading within it gets no further bytes.
    static let readsInARow: UInt = 1
    static let readAllocator = AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 4096, maximum: 256 * 1024)

    /// SwiftNIO's own limit for TCP; beyond any deadline of ours.
    private static let connectTimeout = TimeAmount.seconds(120)

    /// Connects; `initialize` is given the channel before that, in this turn or a later one.
    ///
    /// - Parameters:
    ///   - address: where to: Network.framework takes names of hosts as well.
    ///   - isProxy: whether this is a proxy of the app's own choice; the system's proxies are then not used.
    ///   - eventLoop: SwiftNIO's loop.
    ///   - initialize: makes the channel ready.
    /// - Returns: the channel, or the failure.
    func dial(
        _ address: StreamAddress, isProxy: Bool, on eventLoop: any NIOCore.EventLoop,
        initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        switch self {
        case .ownThread: Self.dialSocket(address, on: eventLoop, initialize: initialize)
        case .group: eventLoop.flatSubmit { Self.dialSocket(address, on: eventLoop, initialize: initialize) }
        #if canImport(NIOTransportServices) && canImport(Network)
        case .transportServices: Self.dialNetwork(address, isProxy: isProxy, on: eventLoop, initialize: initialize)
        #endif
        }
    }

    private static func dialSocket(
        _ address: StreamAddress, on eventLoop: any NIOCore.EventLoop,
        initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        var bootstrap = ClientBootstrap(group: eventLoop)
        let socketAddress: SocketAddress?
        switch address {
        case .host(let host, let port):
            socketAddress = try? SocketAddress.makeAddressResolvingHost(host, port: port)
            bootstrap = bootstrap.channelOption(.tcpOption(.tcp_nodelay), value: 1)
        case .path(let path): socketAddress = try? SocketAddress(unixDomainSocketPath: path)
        }
        guard let socketAddress else { return eventLoop.makeFailedFuture(NotAnAddress(text: "\(address)")) }
        return
            bootstrap
            .channelOption(.maxMessagesPerRead, value: Self.readsInARow)
            .channelOption(.recvAllocator, value: Self.readAllocator)
            .connectTimeout(Self.connectTimeout)
            .channelInitializer(initialize)
            .connect(to: socketAddress)
    }

    #if canImport(NIOTransportServices) && canImport(Network)
    /// The most bytes of one read.
    private static let longestRead = 256 * 1024

    private static func dialNetwork(
        _ address: StreamAddress, isProxy: Bool, on eventLoop: any NIOCore.EventLoop,
        initialize: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) -> EventLoopFuture<any Channel> {
        // Other options than these and the automatic reading are fatal errors there; it sets TCP_NODELAY itself.
        let bootstrap = NIOTSConnectionBootstrap(group: eventLoop)
            // A path without a route fails at once, and the connection's own attempts follow it.
            .channelOption(NIOTSChannelOptions.waitForActivity, value: false)
            .channelOption(NIOTSChannelOptions.maximumReceiveLength, value: Self.longestRead)
            .connectTimeout(Self.connectTimeout)
            .configureNWParameters { $0.preferNoProxies = isProxy }
            .channelInitializer(initialize)
        switch address {
        case .host(let host, let port): return bootstrap.connect(host: host, port: port)
        case .path(let path): return bootstrap.connect(unixDomainSocketPath: path)
        }
    }
    #endif

    private struct NotAnAddress: Error, CustomStringConvertible {
        let text: String

        var description: String { "\(self.text) is not an address" }
    }
}
#endif
