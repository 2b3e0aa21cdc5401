// swift-format-ignore-file
// SwiftNIO's sockets.
import Dispatch
import NIOCore

public final class MultiThreadedEventLoopGroup: EventLoopGroup {
    public init(numberOfThreads: Int) {}
    public static let singleton = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    public static var currentEventLoop: (any EventLoop)? { nil }
    public static func withCurrentThreadAsEventLoop(_ body: @escaping (any EventLoop) -> Void) {}
    public func next() -> any EventLoop { fatalError() }
    public func shutdownGracefully(queue: DispatchQueue = .global(), _ callback: @escaping @Sendable ((any Error)?) -> Void) {}
}
public final class ClientBootstrap {
    public init(group: any EventLoopGroup) {}
    public func channelOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> Self { self }
    public func connectTimeout(_ timeout: TimeAmount) -> Self { self }
    public func channelInitializer(_ handler: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>) -> Self { self }
    public func connect(to address: SocketAddress) -> EventLoopFuture<any Channel> { fatalError() }
    public func connect(unixDomainSocketPath: String) -> EventLoopFuture<any Channel> { fatalError() }
    public func withConnectedSocket(_ descriptor: NIOBSDSocket.Handle) -> EventLoopFuture<any Channel> { fatalError() }
}
public final class ServerBootstrap {
    public init(group: any EventLoopGroup) {}
    public func serverChannelOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> Self { self }
    public func childChannelOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> Self { self }
    public func childChannelInitializer(_ handler: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>) -> Self { self }
    public func withBoundSocket(_ descriptor: NIOBSDSocket.Handle) -> EventLoopFuture<any Channel> { fatalError() }
    public func bind(to address: SocketAddress) -> EventLoopFuture<any Channel> { fatalError() }
}
