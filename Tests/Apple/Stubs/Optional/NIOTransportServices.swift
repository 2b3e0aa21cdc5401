// swift-format-ignore-file
// SwiftNIO over Network.framework, 1.28.
import Dispatch
import NIOCore
import Network

public final class NIOTSEventLoopGroup: EventLoopGroup {
    public convenience init(loopCount: Int = 1, defaultQoS: DispatchQoS = .default) { fatalError() }
    public func next() -> any EventLoop { fatalError() }
    public func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {}
}
public struct NIOTSChannelOptions: Sendable {
    public static let waitForActivity = NIOTSChannelOptions.Types.NIOTSWaitForActivityOption()
    public static let maximumReceiveLength = NIOTSChannelOptions.Types.NIOTSMaximumReceiveLengthOption()
    public enum Types: Sendable {
        public struct NIOTSWaitForActivityOption: ChannelOption {
            public typealias Value = Bool
            public init() {}
        }
        public struct NIOTSMaximumReceiveLengthOption: ChannelOption {
            public typealias Value = Int
            public init() {}
        }
    }
}
public final class NIOTSConnectionBootstrap {
    public convenience init(group: any EventLoopGroup) { fatalError() }
    public func channelInitializer(_ handler: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>) -> Self { self }
    public func channelOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> Self { self }
    public func connectTimeout(_ timeout: TimeAmount) -> Self { self }
    public func configureNWParameters(_ configurator: @Sendable @escaping (NWParameters) -> Void) -> Self { self }
    public func connect(host: String, port: Int) -> EventLoopFuture<any Channel> { fatalError() }
    public func connect(to address: SocketAddress) -> EventLoopFuture<any Channel> { fatalError() }
    public func connect(unixDomainSocketPath: String) -> EventLoopFuture<any Channel> { fatalError() }
}
