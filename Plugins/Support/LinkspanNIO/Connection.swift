#if NIO
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore
internal import NIOSSL
internal import NIOTLS

/// The request of one stream, with the configuration that its TLS policy needs.
final class Dialer {
    fileprivate let request: StreamRequest
    /// Nil for plain connections.
    fileprivate let tls: TLSContext?

    init(_ request: StreamRequest, on core: NIOLoopCore) throws(ByteStreamError) {
        self.request = request
        self.tls = try request.isSecure ? core.context(for: request) : nil
    }
}

/// One connection to one address, as the handler at the upper end of SwiftNIO's channel.
///
/// It brings the proxy and TLS about and sends the request; then the channel carries the stream's bytes.
final class Connection: ChannelInboundHandler, StreamConnection {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The most bytes that a stream is given at once.
    private static let longestPiece = 256 * 1024

    /// The stage of the connection: the event that it waits for, or the stream that it carries.
    private enum Stage {
        case connecting(Dialer)
        /// The proxy's answer.
        case proxy(Dialer, ProxyHandshake)
        case tls(Dialer)
        /// The stream's own bytes.
        case open(isSecure: Bool)
    }

    /// Nil once the connection is of no more use to it.
    private var stream: LoopStream?
    private var stage: Stage
    private let core: NIOLoopCore
    private var channel: (any Channel)?
    /// Closes the channel below TLS, which would wait for the peer's farewell.
    private let ground = Ground()
    /// The bytes that SwiftNIO has and the system has not taken yet.
    private var sending = 0
    /// The bytes that have come and were not handed over yet.
    private var input = CircularBuffer<ByteBuffer>()
    /// Whether the stream takes received bytes.
    private var isReadingWanted = true
    private var isReading = false
    private var end: End?

    /// The end of the connection, behind the input.
    private struct End {
        /// Whether TLS ended without a `close_notify` alert, so that a body without a length may be incomplete (RFC 9112
        /// section 9.8).
        var isCut: Bool
        /// Whether the connection is broken, so that the input is handed over even while reading is paused.
        var isBroken: Bool
    }

    private init(_ stream: LoopStream, stage: Stage, core: NIOLoopCore) {
        self.stream = stream
        self.stage = stage
        self.core = core
    }

    /// Makes a connection of a request.
    convenience init(_ stream: LoopStream, by dialer: Dialer, core: NIOLoopCore) {
        self.init(stream, stage: .connecting(dialer), core: core)
    }

    /// Serves a connection that came in.
    static func serve(
        _ channel: any Channel, for stream: LoopStream, handler: any ByteStreamHandler, on core: NIOLoopCore
    ) {
        let connection = Connection(stream, stage: .open(isSecure: false), core: core)
        do {
            try connection.take(channel)
            stream.serve(connection, handler: handler)
        } catch {
            stream.serve(connection, handler: handler)
            stream.abortLater(ByteStreamError(.unavailable, "an accepted connection could not be taken"))
        }
    }

    /// Becomes the handler of a channel.
    private func take(_ channel: any Channel) throws {
        guard self.stream != nil else { throw ChannelError.ioOnClosedChannel }
        self.channel = channel
        try channel.pipeline.syncOperations.addHandlers([self.ground, self])
    }

    func openingStage(_ peer: OpeningStage.Peer) -> OpeningStage {
        switch self.stage {
        case .connecting: .connecting(peer)
        case .proxy: .proxy
        case .tls, .open: .tls
        }
    }

    func close() {
        self.stream = nil
        self.input.removeAll()
        let channel = self.channel.take()
        guard !self.ground.close() else { return }
        channel?.close(promise: nil)
    }

    private func fail(_ failure: DialFailure) {
        guard let stream = self.stream else { return }
        self.close()
        stream.failed(self, failure)
    }
}

// MARK: - Opening

extension Connection {
    func open(_ address: StreamAddress) {
        guard case .connecting(let dialer) = self.stage else { return }
        let (core, identity) = (self.core, self.core.identity)
        let this = Confined(self, to: core.members.loop)
        let dialed = core.kind.dial(address, isProxy: dialer.request.proxy != nil, on: core.eventLoop) { channel in
            identity.asCurrent { channel.eventLoop.makeCompletedFuture { try this.value.take(channel) } }
        }
        dialed.assumeIsolated().whenComplete { result in
            core.enter {
                switch result {
                case .success: self.connected(dialer)
                case .failure(let error): self.fail(DialFailure(error))
                }
            }
        }
    }

    private func connected(_ dialer: Dialer) {
        guard let stream = self.stream else { return }
        stream.reached(self)
        guard let proxy = dialer.request.proxy else { return self.secure(dialer) }
        let handshake = ProxyHandshake(proxy, for: dialer.request)
        self.stage = .proxy(dialer, handshake)
        self.write(ByteBuffer(bytes: handshake.greeting))
    }

    private func receivedFromProxy(_ buffer: ByteBuffer, _ dialer: Dialer, _ handshake: ProxyHandshake) {
        var handshake = handshake
        let step = buffer.withUnsafeReadableBytes { handshake.received($0) }
        self.stage = .proxy(dialer, handshake)
        switch step {
        case .more: ()
        case .send(let bytes): self.write(ByteBuffer(bytes: bytes))
        case .done: self.secure(dialer)
        case .failed(let error): self.fail(.rejected(error))
        }
    }

    private func secure(_ dialer: Dialer) {
        guard self.stream != nil, let channel = self.channel else { return }
        guard dialer.request.isSecure else { return self.sendRequest(dialer) }
        self.stage = .tls(dialer)
        do {
            let handler = try dialer.tls?.handler(for: dialer.request) { [weak self] in self?.stream?.rejected($0) }
            guard let handler else { return self.fail(.rejected(HandshakeFailure.unknown("no configuration").error)) }
            try channel.pipeline.syncOperations.addHandler(handler, position: .before(self))
        } catch {
            self.fail(.rejected(HandshakeFailure.unknown("\(error)").error))
        }
    }

    private func sendRequest(_ dialer: Dialer) {
        self.stage = .open(isSecure: dialer.request.isSecure)
        guard let stream = self.stream, stream.sendsRequest(self) else { return }
        self.write(ByteBuffer(bytes: dialer.request.head))
        stream.opened(self)
    }
}

// MARK: - The stream's bytes

extension Connection {
    func flush() -> Bool {
        while self.sending == 0, case .open = self.stage, let channel = self.channel, channel.isActive,
            let stream = self.stream
        {
            var slice: ByteBuffer?
            stream.withNextBytes { slice = channel.allocator.buffer(bytes: $0) }
            guard let slice else { break }
            self.sending = slice.readableBytes
            let promise = channel.eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenComplete { result in
                // Of a failure, the end of the channel tells.
                if case .success = result { self.wrote() }
            }
            channel.writeAndFlush(slice, promise: promise)
        }
        return true
    }

    private func wrote() {
        let count = self.sending
        self.sending = 0
        guard let stream = self.stream else { return }
        self.core.enter { stream.sentLater(count) }
    }

    private func write(_ bytes: ByteBuffer) { self.channel?.writeAndFlush(bytes, promise: nil) }

    func endWriting() { self.channel?.close(mode: .output, promise: nil) }

    func carry(_ stream: LoopStream) { self.stream = stream }

    func setReading(_ isReading: Bool) {
        self.isReadingWanted = isReading
        // A channel that has gone meanwhile has nothing to set.
        try? self.channel?.syncOptions?.setOption(.autoRead, value: isReading)
        // Bytes received meanwhile follow later, never within this call.
        if isReading, !self.input.isEmpty || self.end != nil {
            self.core.members.loop.executeLocally { self.handOver() }
        }
    }

    private func received(_ buffer: ByteBuffer) {
        var buffer = buffer
        // What TLS has decrypted may be longer than one read.
        while buffer.readableBytes > Self.longestPiece, let piece = buffer.readSlice(length: Self.longestPiece) {
            self.input.append(piece)
        }
        self.input.append(buffer)
        self.handOver()
    }

    /// The peer has ended the connection, or it broke; what the peer sent before is heard before that.
    private func ended(isCut: Bool, isBroken: Bool = false) {
        self.end = End(isCut: isCut || self.end?.isCut == true, isBroken: isBroken || self.end?.isBroken == true)
        if isBroken { self.stream?.broken() }
        self.handOver()
    }

    /// Hands over received bytes, as far as they are wanted now.
    private func handOver() {
        guard !self.isReading else { return }
        self.isReading = true
        defer { self.isReading = false }
        while let stream = self.stream, self.isReadingWanted || self.end?.isBroken == true {
            guard let buffer = self.input.popFirst() else {
                if let end = self.end.take() { stream.closed(isCut: end.isCut) }
                return
            }
            stream.received([UInt8](buffer.readableBytesView))
        }
    }
}

// MARK: - Events of the channel

extension Connection {
    func channelActive(context: ChannelHandlerContext) {
        guard case .open = self.stage, let stream = self.stream else { return }
        self.core.enter { stream.opened(self) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard self.stream != nil else { return }
        let buffer = self.unwrapInboundIn(data)
        self.core.enter {
            switch self.stage {
            case .open: self.received(buffer)
            case .proxy(let dialer, let handshake): self.receivedFromProxy(buffer, dialer, handshake)
            case .connecting, .tls: ()
            }
        }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard self.stream != nil, case .handshakeCompleted? = event as? TLSUserEvent,
            case .tls(let dialer) = self.stage
        else { return }
        self.core.enter { self.sendRequest(dialer) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard self.stream != nil else { return }
        self.core.enter {
            switch self.stage {
            case .connecting, .proxy: ()
            case .tls:
                if let failure = HandshakeFailure(error) { self.fail(.rejected(failure.error)) }
            case .open(let isSecure):
                // Of TLS 1.3, whose server looks at our certificate after we have looked at its own.
                if case .identity? = HandshakeFailure(error) {
                    return self.fail(.rejected(HandshakeFailure.identity.error))
                }
                // The end without a farewell in TLS, where anybody can end TCP.
                if error as? NIOSSLError == .uncleanShutdown { return self.ended(isCut: true) }
                // NIOTransportServices says so of every channel that is closed in order, before the end itself.
                if case .ioOnClosedChannel? = error as? ChannelError { return }
                self.ended(isCut: isSecure, isBroken: true)
            }
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        guard self.stream != nil else { return }
        self.core.enter {
            switch self.stage {
            case .connecting: ()
            case .proxy: self.fail(.rejected(ProxyHandshake.hungUp))
            case .tls: self.fail(.rejected(HandshakeFailure.cut.error))
            case .open: self.ended(isCut: false)
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
