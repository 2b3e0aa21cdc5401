#if NIO
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// One connection to one address, as the handler at the upper end of SwiftNIO's channel.
///
/// It brings the proxy and TLS about, and hands everything else to its stream.
final class Connection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// One read, one event: who pauses reading within it is sent no more of what has come.
    static let readsInARow: UInt = 1
    static let readAllocator = AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 4096, maximum: 64 * 1024)

    /// The stage of the connection: the event that it waits for, or the stream that it carries.
    private enum Stage {
        case connecting
        /// The proxy's answer.
        case proxy(ProxyHandshake)
        case tls
        /// The stream's own bytes.
        case stream
    }

    /// Nil once the connection is of no more use to it.
    private var stream: NIOStream?
    private var stage: Stage
    private var channel: (any Channel)?
    /// Closes the channel below TLS, which would wait for the peer's farewell.
    private let ground = Ground()

    init(_ stream: NIOStream, isAccepted: Bool = false) {
        self.stream = stream
        self.stage = isAccepted ? .stream : .connecting
    }

    /// The stage of the opening.
    func openingStage(_ peer: OpeningStage.Peer) -> OpeningStage {
        switch self.stage {
        case .connecting: .connecting(peer)
        case .proxy: .proxy
        case .tls, .stream: .tls
        }
    }

    /// Whether the stream's bytes may be sent.
    var isReady: Bool {
        guard case .stream = self.stage, let channel = self.channel else { return false }
        return channel.isActive
    }

    /// Dials.
    func connect(to destination: EventLoopKind.Destination, on core: NIOLoopCore) {
        let (this, loop) = (Confined(self, to: core.loop), core.loop)
        let dialed = loop.kind.dial(destination, on: core.eventLoop) { channel in
            loop.asCurrent { channel.eventLoop.makeCompletedFuture { try this.value.take(channel) } }
        }
        dialed.assumeIsolated().whenComplete { result in
            core.enter {
                switch result {
                case .success: self.connected()
                case .failure(let error): self.fail(DialFailure(error))
                }
            }
        }
    }

    /// Becomes the handler of a channel.
    func take(_ channel: any Channel) throws {
        guard self.stream != nil else { throw ChannelError.ioOnClosedChannel }
        self.channel = channel
        try channel.pipeline.syncOperations.addHandlers([self.ground, self])
    }

    /// Ends the connection at once; its last events are ignored.
    func close() {
        self.stream = nil
        let channel = self.channel.take()
        guard !self.ground.close() else { return }
        channel?.close(promise: nil)
    }

    /// Sends bytes; tells when the system has taken them.
    func write(_ bytes: ByteBuffer, _ completion: ((Bool) -> Void)? = nil) {
        guard let channel = self.channel else { return }
        guard let completion else { return channel.writeAndFlush(bytes, promise: nil) }
        let promise = channel.eventLoop.makePromise(of: Void.self)
        promise.futureResult.assumeIsolated().whenComplete { result in
            if case .success = result { completion(true) } else { completion(false) }
        }
        channel.writeAndFlush(bytes, promise: promise)
    }

    var allocator: ByteBufferAllocator { self.channel?.allocator ?? ByteBufferAllocator() }

    /// Says that nothing more is sent.
    func halfClose() { self.channel?.close(mode: .output, promise: nil) }

    func setReading(_ isReading: Bool) {
        // A channel that has gone meanwhile has nothing to set.
        try? self.channel?.syncOptions?.setOption(.autoRead, value: isReading)
    }

    // MARK: Opening

    private func connected() {
        guard let stream = self.stream else { return }
        stream.reached(self)
        guard let proxy = stream.request.proxy else { return self.secure() }
        let handshake = ProxyHandshake(proxy, for: stream.request)
        self.stage = .proxy(handshake)
        self.write(ByteBuffer(bytes: handshake.greeting))
    }

    private func receivedFromProxy(_ buffer: ByteBuffer, _ handshake: ProxyHandshake) {
        var handshake = handshake
        let step = buffer.withUnsafeReadableBytes { handshake.received($0) }
        self.stage = .proxy(handshake)
        switch step {
        case .more: ()
        case .send(let bytes): self.write(ByteBuffer(bytes: bytes))
        case .done: self.secure()
        case .failed(let error): self.fail(.rejected(error))
        }
    }

    private func secure() {
        guard let stream = self.stream, let channel = self.channel else { return }
        guard stream.request.isSecure else { return self.ready() }
        self.stage = .tls
        do {
            let handler = try stream.tls?.handler(for: stream.request) { [weak self] in self?.stream?.rejected($0) }
            guard let handler else { return self.fail(.rejected(HandshakeFailure.unknown("no configuration").error)) }
            try channel.pipeline.syncOperations.addHandler(handler, position: .before(self))
        } catch {
            self.fail(.rejected(HandshakeFailure.unknown("\(error)").error))
        }
    }

    private func ready() {
        self.stage = .stream
        self.stream?.connected(self)
    }

    private func fail(_ failure: DialFailure) {
        guard let stream = self.stream else { return }
        self.close()
        stream.failed(self, failure)
    }

    // MARK: Events of the channel

    func channelActive(context: ChannelHandlerContext) {
        guard case .stream = self.stage, let stream = self.stream else { return }
        stream.core.enter { stream.requestFlush() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let stream = self.stream else { return }
        let buffer = self.unwrapInboundIn(data)
        stream.core.enter {
            switch self.stage {
            case .stream: stream.received(self, buffer)
            case .proxy(let handshake): self.receivedFromProxy(buffer, handshake)
            case .connecting, .tls: ()
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let stream = self.stream, case .handshakeCompleted? = event as? TLSUserEvent, case .tls = self.stage
        else { return }
        stream.core.enter { self.ready() }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard let stream = self.stream else { return }
        stream.core.enter {
            switch self.stage {
            case .connecting, .proxy: ()
            case .tls:
                if let failure = HandshakeFailure(error) { self.fail(.rejected(failure.error)) }
            case .stream:
                // Of TLS 1.3, whose server looks at our certificate after we have looked at its own.
                if case .identity? = HandshakeFailure(error) {
                    return self.fail(.rejected(HandshakeFailure.identity.error))
                }
                // The end without a farewell in TLS, where anybody can end TCP.
                if error as? NIOSSLError == .uncleanShutdown { return stream.ended(self, isCut: true) }
                // NIOTransportServices says so of every channel that is closed in order, before the end itself.
                if case .ioOnClosedChannel? = error as? ChannelError { return }
                stream.broken(self)
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard let stream = self.stream else { return }
        stream.core.enter {
            switch self.stage {
            case .connecting: ()
            case .proxy: self.fail(.rejected(ProxyHandshake.hungUp))
            case .tls: self.fail(.rejected(HandshakeFailure.cut.error))
            case .stream: stream.ended(self)
            }
        }
    }
}

/// The handler at the lower end of a channel.
private final class Ground: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private var context: ChannelHandlerContext?

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }
    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Closes the channel from here on down; false when it has no place in one.
    func close() -> Bool {
        guard let context = self.context else { return false }
        context.close(promise: nil)
        return true
    }
}
#endif
