// swift-format-ignore-file
// SwiftNIO's core.
import Darwin
import Dispatch

public struct TimeAmount: Hashable, Sendable, Comparable {
    public static func seconds(_ amount: Int64) -> Self { fatalError() }
    public static func milliseconds(_ amount: Int64) -> Self { fatalError() }
    public static func nanoseconds(_ amount: Int64) -> Self { fatalError() }
    public static func < (left: Self, right: Self) -> Bool { false }
}
public struct NIODeadline: Hashable, Sendable, Comparable {
    public static func now() -> Self { fatalError() }
    public static func + (left: Self, right: TimeAmount) -> Self { left }
    public static func < (left: Self, right: Self) -> Bool { false }
}
public struct Scheduled<T: Sendable>: Sendable {
    public func cancel() {}
}
public protocol EventLoopGroup: AnyObject, Sendable {
    func next() -> any EventLoop
    func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void)
}
public protocol EventLoop: EventLoopGroup {
    var inEventLoop: Bool { get }
    func execute(_ task: @escaping @Sendable () -> Void)
    @discardableResult
    func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T>
    @discardableResult
    func scheduleTask<T>(in: TimeAmount, _ task: @escaping @Sendable () throws -> T) -> Scheduled<T>
}
extension EventLoop {
    public func shutdownGracefully(queue: DispatchQueue, _ callback: @escaping @Sendable ((any Error)?) -> Void) {}
    public func next() -> any EventLoop { self }
    public func makePromise<T>(of type: T.Type = T.self) -> EventLoopPromise<T> { fatalError() }
    public func makeSucceededVoidFuture() -> EventLoopFuture<Void> { fatalError() }
    public func makeSucceededFuture<T: Sendable>(_ value: T) -> EventLoopFuture<T> { fatalError() }
    public func makeFailedFuture<T>(_ error: any Error) -> EventLoopFuture<T> { fatalError() }
    public func makeCompletedFuture<T: Sendable>(withResultOf body: () throws -> T) -> EventLoopFuture<T> { fatalError() }
    public func makeCompletedFuture<T: Sendable>(_ result: Result<T, any Error>) -> EventLoopFuture<T> { fatalError() }
    public func assumeIsolated() -> NIOIsolatedEventLoop { fatalError() }
    public func preconditionInEventLoop() {}
    public func assertInEventLoop() {}
    public func submit<T>(_ task: @escaping @Sendable () throws -> T) -> EventLoopFuture<T> { fatalError() }
    public func flatSubmit<T: Sendable>(_ task: @escaping @Sendable () -> EventLoopFuture<T>) -> EventLoopFuture<T> { fatalError() }
}
public struct NIOIsolatedEventLoop {
    public func execute(_ task: @escaping () -> Void) {}
    public func scheduleTask<T>(deadline: NIODeadline, _ task: @escaping () throws -> T) -> Scheduled<T> { fatalError() }
    public func scheduleTask<T>(in: TimeAmount, _ task: @escaping () throws -> T) -> Scheduled<T> { fatalError() }
    public func makeCompletedFuture<T>(withResultOf body: () throws -> T) -> EventLoopFuture<T> { fatalError() }
    public func makeSucceededFuture<T>(_ value: T) -> EventLoopFuture<T> { fatalError() }
}
public final class EventLoopFuture<Value>: @unchecked Sendable {
    public struct Isolated {
        public func whenComplete(_ callback: @escaping (Result<Value, any Error>) -> Void) {}
        public func whenSuccess(_ callback: @escaping (Value) -> Void) {}
        public func map<New>(_ callback: @escaping (Value) -> New) -> EventLoopFuture<New>.Isolated { fatalError() }
        public func nonisolated() -> EventLoopFuture<Value> { fatalError() }
    }
    public var eventLoop: any EventLoop { fatalError() }
    public func assumeIsolated() -> Isolated { fatalError() }
    public func whenComplete(_ callback: @escaping @Sendable (Result<Value, any Error>) -> Void) {}
    public func whenSuccess(_ callback: @escaping @Sendable (Value) -> Void) {}
    public func wait() throws -> Value { fatalError() }
    public func get() async throws -> Value { fatalError() }
}
public struct EventLoopPromise<Value>: @unchecked Sendable {
    public let futureResult: EventLoopFuture<Value>
    public func succeed(_ value: Value) {}
    public func succeed() where Value == Void {}
    public func fail(_ error: any Error) {}
    public func completeWith(_ result: Result<Value, any Error>) {}
}
public struct ByteBufferAllocator: Sendable {
    public init() {}
    public func buffer(capacity: Int) -> ByteBuffer { ByteBuffer() }
    public func buffer(bytes: some Sequence<UInt8>) -> ByteBuffer { ByteBuffer() }
}
public struct ByteBuffer: Sendable, Hashable {
    public init() {}
    public init(bytes: some Sequence<UInt8>) {}
    public init(string: String) {}
    public var readableBytes: Int { 0 }
    public var writableBytes: Int { 0 }
    public var readerIndex: Int { 0 }
    public var writerIndex: Int { 0 }
    public mutating func clear() {}
    public mutating func reserveCapacity(_ capacity: Int) {}
    public mutating func reserveCapacity(minimumWritableBytes: Int) {}
    public mutating func moveReaderIndex(forwardBy offset: Int) {}
    @discardableResult public mutating func writeBytes(_ bytes: some Sequence<UInt8>) -> Int { 0 }
    @discardableResult public mutating func writeBytes(_ bytes: UnsafeRawBufferPointer) -> Int { 0 }
    @discardableResult public mutating func writeString(_ text: String) -> Int { 0 }
    @discardableResult public mutating func writeBuffer(_ other: inout ByteBuffer) -> Int { 0 }
    @discardableResult public mutating func writeWithUnsafeMutableBytes(
        minimumWritableBytes: Int, _ body: (UnsafeMutableRawBufferPointer) throws -> Int
    ) rethrows -> Int { 0 }
    public mutating func readBytes(length: Int) -> [UInt8]? { nil }
    public mutating func readSlice(length: Int) -> ByteBuffer? { nil }
    public func getSlice(at index: Int, length: Int) -> ByteBuffer? { nil }
    public func withUnsafeReadableBytes<T>(_ body: (UnsafeRawBufferPointer) throws -> T) rethrows -> T {
        try body(UnsafeRawBufferPointer(start: nil, count: 0))
    }
    public var readableBytesView: ByteBufferView { ByteBufferView() }
}
public struct ByteBufferView: RandomAccessCollection, Sendable {
    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }
    public subscript(index: Int) -> UInt8 { 0 }
}
public struct NIOAny {}
public enum CloseMode: Sendable { case output, input, all }
public enum ChannelError: Error {
    case connectPending
    case connectTimeout(TimeAmount)
    case operationUnsupported
    case ioOnClosedChannel
    case alreadyClosed
    case outputClosed
    case inputClosed
    case eof
    case writeMessageTooLarge
}
public struct IOError: Error, Sendable {
    public let errnoCode: CInt
    public init(errnoCode: CInt, reason: String) { self.errnoCode = errnoCode }
}
public protocol RecvByteBufferAllocator: Sendable {}
public struct AdaptiveRecvByteBufferAllocator: RecvByteBufferAllocator {
    public init(minimum: Int, initial: Int, maximum: Int) {}
}
public protocol ChannelOption: Equatable, Sendable {
    associatedtype Value: Sendable
}
public enum ChannelOptions {
    public enum Types {
        public struct SocketOption: ChannelOption { public typealias Value = CInt }
        public struct MaxMessagesPerReadOption: ChannelOption { public typealias Value = UInt }
        public struct RecvAllocatorOption: ChannelOption { public typealias Value = any RecvByteBufferAllocator }
        public struct AutoReadOption: ChannelOption { public typealias Value = Bool }
        public struct BacklogOption: ChannelOption { public typealias Value = Int32 }
        public struct AllowRemoteHalfClosureOption: ChannelOption { public typealias Value = Bool }
        public struct WriteBufferWaterMarkOption: ChannelOption { public typealias Value = WriteBufferWaterMark }
        public struct WriteBufferWaterMark: Sendable { public init(low: Int, high: Int) {} }
    }
}
public struct NIOBSDSocket: Sendable {
    public struct Option: RawRepresentable, Sendable, Hashable {
        public var rawValue: CInt
        public init(rawValue: CInt) { self.rawValue = rawValue }
        public static let tcp_nodelay = Option(rawValue: 1)
        public static let so_reuseaddr = Option(rawValue: 1)
        public static let so_keepalive = Option(rawValue: 1)
    }
    public struct ProtocolFamily: RawRepresentable, Sendable, Hashable {
        public var rawValue: CInt
        public init(rawValue: CInt) { self.rawValue = rawValue }
        public static let inet = ProtocolFamily(rawValue: 2)
        public static let inet6 = ProtocolFamily(rawValue: 30)
        public static let unix = ProtocolFamily(rawValue: 1)
    }
    public typealias Handle = CInt
}
extension ChannelOption where Self == ChannelOptions.Types.SocketOption {
    public static func tcpOption(_ option: NIOBSDSocket.Option) -> Self { Self() }
    public static func socketOption(_ option: NIOBSDSocket.Option) -> Self { Self() }
}
extension ChannelOption where Self == ChannelOptions.Types.MaxMessagesPerReadOption {
    public static var maxMessagesPerRead: Self { Self() }
}
extension ChannelOption where Self == ChannelOptions.Types.RecvAllocatorOption {
    public static var recvAllocator: Self { Self() }
}
extension ChannelOption where Self == ChannelOptions.Types.AutoReadOption {
    public static var autoRead: Self { Self() }
}
extension ChannelOption where Self == ChannelOptions.Types.BacklogOption {
    public static var backlog: Self { Self() }
}
extension ChannelOption where Self == ChannelOptions.Types.AllowRemoteHalfClosureOption {
    public static var allowRemoteHalfClosure: Self { Self() }
}
extension ChannelOption where Self == ChannelOptions.Types.WriteBufferWaterMarkOption {
    public static var writeBufferWaterMark: Self { Self() }
}
public protocol NIOSynchronousChannelOptions {
    func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) throws
    func getOption<Option: ChannelOption>(_ option: Option) throws -> Option.Value
}
public enum SocketAddress: Sendable, Hashable {
    case v4(Int)
    case v6(Int)
    case unixDomainSocket(Int)
    public static func makeAddressResolvingHost(_ host: String, port: Int) throws -> SocketAddress { fatalError() }
    public init(ipAddress: String, port: Int) throws { fatalError() }
    public init(unixDomainSocketPath: String) throws { fatalError() }
    public var `protocol`: NIOBSDSocket.ProtocolFamily { fatalError() }
    public var ipAddress: String? { nil }
    public var port: Int? { nil }
    public func withSockAddr<T>(_ body: (UnsafePointer<sockaddr>, Int) throws -> T) rethrows -> T { fatalError() }
}
public protocol ChannelOutboundInvoker {
    func close(mode: CloseMode, promise: EventLoopPromise<Void>?)
    func flush()
}
extension ChannelOutboundInvoker {
    public func close(promise: EventLoopPromise<Void>?) {}
    public func writeAndFlush<T: Sendable>(_ data: T, promise: EventLoopPromise<Void>?) {}
    public func write<T: Sendable>(_ data: T, promise: EventLoopPromise<Void>?) {}
}
public protocol Channel: AnyObject, ChannelOutboundInvoker, Sendable {
    var allocator: ByteBufferAllocator { get }
    var closeFuture: EventLoopFuture<Void> { get }
    var pipeline: ChannelPipeline { get }
    var localAddress: SocketAddress? { get }
    var remoteAddress: SocketAddress? { get }
    var isActive: Bool { get }
    var isWritable: Bool { get }
    var eventLoop: any EventLoop { get }
    var syncOptions: (any NIOSynchronousChannelOptions)? { get }
}
extension Channel {
    public func getOption<Option: ChannelOption>(_ option: Option) -> EventLoopFuture<Option.Value> { fatalError() }
    public func setOption<Option: ChannelOption>(_ option: Option, value: Option.Value) -> EventLoopFuture<Void> { fatalError() }
}
public final class ChannelPipeline: @unchecked Sendable {
    public struct SynchronousOperations {
        public enum Position { case first, last, before(any ChannelHandler), after(any ChannelHandler) }
        public func addHandler(_ handler: any ChannelHandler, name: String? = nil, position: Position = .last) throws {}
        public func addHandlers(_ handlers: [any ChannelHandler], position: Position = .last) throws {}
        public func removeHandler(_ handler: any RemovableChannelHandler) -> EventLoopFuture<Void> { fatalError() }
        public func fireUserInboundEventTriggered(_ event: Any) {}
        public func fireErrorCaught(_ error: any Error) {}
    }
    public var syncOperations: SynchronousOperations { fatalError() }
}
public final class ChannelHandlerContext: ChannelOutboundInvoker {
    public var channel: any Channel { fatalError() }
    public var eventLoop: any EventLoop { fatalError() }
    public var pipeline: ChannelPipeline { fatalError() }
    public func close(mode: CloseMode, promise: EventLoopPromise<Void>?) {}
    public func flush() {}
    public func write(_ data: NIOAny, promise: EventLoopPromise<Void>?) {}
    public func writeAndFlush(_ data: NIOAny, promise: EventLoopPromise<Void>?) {}
    public func fireChannelRead(_ data: NIOAny) {}
    public func fireChannelActive() {}
    public func fireChannelInactive() {}
    public func fireErrorCaught(_ error: any Error) {}
    public func fireUserInboundEventTriggered(_ event: Any) {}
    public func read() {}
}
public protocol ChannelHandler: AnyObject {
    func handlerAdded(context: ChannelHandlerContext)
    func handlerRemoved(context: ChannelHandlerContext)
}
extension ChannelHandler {
    public func handlerAdded(context: ChannelHandlerContext) {}
    public func handlerRemoved(context: ChannelHandlerContext) {}
}
public protocol RemovableChannelHandler: ChannelHandler {}
public protocol _ChannelInboundHandler: ChannelHandler {
    func channelActive(context: ChannelHandlerContext)
    func channelInactive(context: ChannelHandlerContext)
    func channelRead(context: ChannelHandlerContext, data: NIOAny)
    func channelReadComplete(context: ChannelHandlerContext)
    func channelWritabilityChanged(context: ChannelHandlerContext)
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any)
    func errorCaught(context: ChannelHandlerContext, error: any Error)
}
extension _ChannelInboundHandler {
    public func channelActive(context: ChannelHandlerContext) {}
    public func channelInactive(context: ChannelHandlerContext) {}
    public func channelRead(context: ChannelHandlerContext, data: NIOAny) {}
    public func channelReadComplete(context: ChannelHandlerContext) {}
    public func channelWritabilityChanged(context: ChannelHandlerContext) {}
    public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {}
    public func errorCaught(context: ChannelHandlerContext, error: any Error) {}
}
public protocol ChannelInboundHandler: _ChannelInboundHandler {
    associatedtype InboundIn
    associatedtype InboundOut = Never
    associatedtype OutboundOut = Never
}
extension ChannelInboundHandler {
    public static func unwrapInboundIn(_ value: NIOAny) -> InboundIn { fatalError() }
    public func unwrapInboundIn(_ value: NIOAny) -> InboundIn { fatalError() }
    public func wrapInboundOut(_ value: InboundOut) -> NIOAny { fatalError() }
    public func wrapOutboundOut(_ value: OutboundOut) -> NIOAny { fatalError() }
}
public struct CircularBuffer<Element>: RandomAccessCollection, MutableCollection, RangeReplaceableCollection {
    private var elements: [Element] = []
    public init() {}
    public init(initialCapacity: Int) {}
    public var startIndex: Int { self.elements.startIndex }
    public var endIndex: Int { self.elements.endIndex }
    public subscript(position: Int) -> Element {
        get { self.elements[position] }
        set { self.elements[position] = newValue }
    }
    public mutating func replaceSubrange<Other: Collection<Element>>(_ range: Range<Int>, with new: Other) {}
    public mutating func popFirst() -> Element? { nil }
}
