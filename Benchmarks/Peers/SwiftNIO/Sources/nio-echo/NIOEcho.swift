import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOWebSocket

/// The raw echo by SwiftNIO's own WebSocket client: `nio-echo PORT W7|W8`.
@main
enum NIOEcho {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2, let port = Int(arguments[1]) else { fatalError("nio-echo PORT W7|W8") }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let name = arguments[2]
        let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: 1 << 24) { channel, _ in
            channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo(name)) }
        }
        let bootstrap = ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let request = Request(port)
                    try channel.pipeline.syncOperations.addHTTPClientHandlers(
                        withClientUpgrade: (
                            upgraders: [upgrader],
                            completionHandler: { context in
                                context.pipeline.syncOperations.removeHandler(request, promise: nil)
                            }
                        ))
                    try channel.pipeline.syncOperations.addHandler(request)
                }
            }
        let channel = try bootstrap.connect(host: "127.0.0.1", port: port).wait()
        try channel.closeFuture.wait()
    }
}

/// Asks for the upgrade.
private final class Request: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let port: Int

    init(_ port: Int) { self.port = port }

    func channelActive(context: ChannelHandlerContext) {
        let headers = HTTPHeaders([("Host", "127.0.0.1:\(self.port)"), ("Content-Length", "0")])
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/raw", headers: headers)
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
    }
}

private final class Echo: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let name: String
    private let payload: ByteBuffer
    private let count: Int
    private let width: Int
    private var (wanted, sent, received) = (0, 0, 0)
    private var isWarm = false
    private var (start, used) = (0.0, 0.0)

    init(_ name: String) {
        self.name = name
        let isLarge = name == "W8"
        self.payload = ByteBuffer(repeating: 7, count: isLarge ? 1 << 20 : 64)
        (self.count, self.width) = isLarge ? (500, 1) : (500_000, 64)
    }

    func handlerAdded(context: ChannelHandlerContext) { self.begin(self.count / 20, context) }

    private func begin(_ messages: Int, _ context: ChannelHandlerContext) {
        (self.wanted, self.sent, self.received) = (messages, 0, 0)
        (self.start, self.used) = (Self.now, Self.cpu)
        for _ in 0..<self.width { self.send(context) }
        context.flush()
    }

    private func send(_ context: ChannelHandlerContext) {
        guard self.sent < self.wanted else { return }
        self.sent += 1
        let frame = WebSocketFrame(fin: true, opcode: .binary, maskKey: .random(), data: self.payload)
        context.write(self.wrapOutboundOut(frame), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        precondition(frame.data.readableBytes == self.payload.readableBytes)
        self.received += 1
        self.send(context)
        guard self.received == self.wanted else { return }
        guard self.isWarm else {
            self.isWarm = true
            return self.begin(self.count, context)
        }
        let (elapsed, used) = (Self.now - self.start, Self.cpu - self.used)
        let title = self.name.padding(toLength: 12, withPad: " ", startingAt: 0)
        print(
            title
                + String(
                    format: "%14.0f%16.3f%16.3f", Double(self.wanted) / elapsed, used / Double(self.wanted) * 1e6, 0.0))
        exit(0)
    }

    func channelReadComplete(context: ChannelHandlerContext) { context.flush() }

    private static var now: Double { ProcessInfo.processInfo.systemUptime }

    private static var cpu: Double {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(RUSAGE_SELF, &usage)
        #endif
        func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }
}
