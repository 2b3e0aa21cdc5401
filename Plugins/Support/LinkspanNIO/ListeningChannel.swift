#if NIO
private import CLinkspanRuntime
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore
internal import NIOPosix

/// A port at which a loop accepts streams.
final class ListeningChannel: ByteListener, LoopMember {
    let port: Int

    private let core: NIOLoopCore
    private let path: String?
    /// Nil until SwiftNIO has taken the socket, and after the end.
    private var channel: (any Channel)?
    /// Nil while the port is not to be given up.
    private var onClosed: [() -> Void]?
    private var isOver = false

    private init(port: Int, path: String?, core: NIOLoopCore) {
        self.port = port
        self.path = path
        self.core = core
    }

    /// Opens a socket and listens.
    ///
    /// SwiftNIO binds sockets in a later turn; the port, or why it is not to be had, is to be known now.
    static func open(
        _ request: ListenRequest, on core: NIOLoopCore, accept: @escaping (any Channel) -> Bool
    ) throws(ByteStreamError) -> ListeningChannel {
        try request.validated()
        guard core.kind.usesSockets else {
            throw request.unavailable("the loop has no sockets of the system, and cannot listen", isTaken: false)
        }
        let address =
            if let path = request.path { try? SocketAddress(unixDomainSocketPath: path) } else {
                try? SocketAddress(ipAddress: request.address, port: request.port)
            }
        guard let address else { throw request.unavailable(SystemProblem.text(of: EINVAL), isTaken: false) }
        let descriptor = address.withSockAddr { clinkspan_open_socket($0, socklen_t($1), true) }
        guard descriptor >= 0 else {
            let problem = clinkspan_failure()
            throw request.unavailable(SystemProblem.text(of: problem), isTaken: problem == EADDRINUSE)
        }
        let listener = ListeningChannel(port: Int(clinkspan_port(descriptor)), path: request.path, core: core)
        core.members.add(listener)
        let acceptance = Confined((core: core, accept: accept), to: core.members.loop)
        let identity = core.identity
        var bootstrap = ServerBootstrap(group: core.eventLoop)
        if request.path == nil { bootstrap = bootstrap.childChannelOption(.tcpOption(.tcp_nodelay), value: 1) }
        bootstrap
            .serverChannelOption(.backlog, value: ListenRequest.backlog)
            .childChannelOption(.maxMessagesPerRead, value: EventLoopKind.readsInARow)
            .childChannelOption(.recvAllocator, value: EventLoopKind.readAllocator)
            .childChannelInitializer { channel in
                let isWanted = identity.asCurrent {
                    let (core, accept) = acceptance.value
                    var isWanted = false
                    core.enter { isWanted = !core.members.isStopping && accept(channel) }
                    return isWanted
                }
                guard !isWanted else { return channel.eventLoop.makeSucceededVoidFuture() }
                return channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
            }
            .withBoundSocket(descriptor).assumeIsolated().whenComplete { result in
                core.enter { listener.adopted(result) }
            }
        return listener
    }

    private func adopted(_ result: Result<any Channel, any Error>) {
        guard case .success(let channel) = result else { return self.destroyed() }
        self.channel = channel
        let core = self.core
        channel.closeFuture.assumeIsolated().whenComplete { _ in core.enter { self.destroyed() } }
        if self.onClosed != nil { channel.close(promise: nil) }
    }

    func close(_ onClosed: @escaping () -> Void) {
        guard !self.isOver else { return self.core.members.loop.executeLocally(onClosed) }
        self.onClosed = (self.onClosed ?? []) + [onClosed]
        // As a job: the end of the channel may be told within the call.
        self.core.members.loop.executeLocally { self.channel?.close(promise: nil) }
    }

    func flush() {}

    /// SwiftNIO closes it when its loop ends.
    func abort(_ error: ByteStreamError) {}

    private func destroyed() {
        self.channel = nil
        self.isOver = true
        if let path = self.path { unlink(path) }
        self.core.members.remove(self)
        let waiting = self.onClosed ?? []
        self.onClosed = nil
        for tell in waiting { tell() }
    }
}
#endif
