// swift-format-ignore-file
// === NIOPosix
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

// === NIOSSL
// SwiftNIO's TLS.
import NIOCore

public struct BoringSSLInternalError: Equatable, CustomStringConvertible, Sendable {
    public static let eofDuringHandshake = BoringSSLInternalError()
    public var description: String { "" }
}
public typealias NIOBoringSSLErrorStack = [BoringSSLInternalError]
public enum BoringSSLError: Error {
    case noError
    case zeroReturn
    case wantRead
    case wantWrite
    case wantConnect
    case wantAccept
    case wantX509Lookup
    case wantCertificateVerify
    case syscallError
    case sslError(NIOBoringSSLErrorStack)
    case unknownError(NIOBoringSSLErrorStack)
    case invalidSNIName(NIOBoringSSLErrorStack)
    case failedToSetALPN(NIOBoringSSLErrorStack)
}
public enum NIOSSLError: Error, Equatable {
    case writeDuringTLSShutdown
    case unableToAllocateBoringSSLObject
    case noSuchFilesystemObject
    case failedToLoadCertificate
    case failedToLoadPrivateKey
    case handshakeFailed(BoringSSLError)
    case shutdownFailed(BoringSSLError)
    case cannotMatchULabel
    case noCertificateToValidate
    case unableToValidateCertificate
    case cannotFindPeerIP
    case readInInvalidTLSState
    case uncleanShutdown
    public static func == (left: Self, right: Self) -> Bool { false }
}
public enum NIOSSLSerializationFormats { case pem, der }
public final class NIOSSLCertificate: Hashable, Sendable {
    public init(bytes: [UInt8], format: NIOSSLSerializationFormats) throws {}
    public class func fromPEMBytes(_ bytes: [UInt8]) throws -> [NIOSSLCertificate] { [] }
    public func toDERBytes() throws -> [UInt8] { [] }
    public static func == (left: NIOSSLCertificate, right: NIOSSLCertificate) -> Bool { false }
    public func hash(into hasher: inout Hasher) {}
}
public struct SignatureAlgorithm: RawRepresentable, Hashable, Sendable {
    public var rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }
    public static let rsaPkcs1Sha256 = SignatureAlgorithm(rawValue: 0x0401)
    public static let rsaPkcs1Sha384 = SignatureAlgorithm(rawValue: 0x0501)
    public static let rsaPkcs1Sha512 = SignatureAlgorithm(rawValue: 0x0601)
    public static let ecdsaSecp256R1Sha256 = SignatureAlgorithm(rawValue: 0x0403)
    public static let ecdsaSecp384R1Sha384 = SignatureAlgorithm(rawValue: 0x0503)
    public static let ecdsaSecp521R1Sha512 = SignatureAlgorithm(rawValue: 0x0603)
    public static let rsaPssRsaeSha256 = SignatureAlgorithm(rawValue: 0x0804)
    public static let rsaPssRsaeSha384 = SignatureAlgorithm(rawValue: 0x0805)
    public static let rsaPssRsaeSha512 = SignatureAlgorithm(rawValue: 0x0806)
    public static let ed25519 = SignatureAlgorithm(rawValue: 0x0807)
}
public protocol NIOSSLCustomPrivateKey: Sendable {
    var signatureAlgorithms: [SignatureAlgorithm] { get }
    var derBytes: [UInt8] { get }
    func sign(channel: any Channel, algorithm: SignatureAlgorithm, data: ByteBuffer) -> EventLoopFuture<ByteBuffer>
    func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer>
}
extension NIOSSLCustomPrivateKey {
    public var derBytes: [UInt8] { [] }
}
public final class NIOSSLPrivateKey: Hashable, Sendable {
    public init(file: String, format: NIOSSLSerializationFormats) throws {}
    public init(bytes: [UInt8], format: NIOSSLSerializationFormats) throws {}
    public init<Key: NIOSSLCustomPrivateKey & Hashable>(customPrivateKey: Key) {}
    public static func == (left: NIOSSLPrivateKey, right: NIOSSLPrivateKey) -> Bool { false }
    public func hash(into hasher: inout Hasher) {}
}
public enum NIOSSLCertificateSource: Hashable, Sendable { case certificate(NIOSSLCertificate) }
public enum NIOSSLPrivateKeySource: Hashable, Sendable { case file(String), privateKey(NIOSSLPrivateKey) }
public enum NIOSSLTrustRoots: Hashable, Sendable { case file(String), certificates([NIOSSLCertificate]), `default` }
public enum CertificateVerification: Sendable { case none, noHostnameVerification, fullVerification }
public enum TLSVersion: Sendable { case tlsv1, tlsv11, tlsv12, tlsv13 }
public struct TLSConfiguration: Sendable {
    public static func makeClientConfiguration() -> TLSConfiguration { fatalError() }
    public static func makeServerConfiguration(
        certificateChain: [NIOSSLCertificateSource], privateKey: NIOSSLPrivateKeySource
    ) -> TLSConfiguration { fatalError() }
    public var minimumTLSVersion = TLSVersion.tlsv12
    public var maximumTLSVersion: TLSVersion?
    public var applicationProtocols: [String] = []
    public var trustRoots: NIOSSLTrustRoots?
    public var certificateVerification = CertificateVerification.fullVerification
    public var certificateChain: [NIOSSLCertificateSource] = []
    public var privateKey: NIOSSLPrivateKeySource?
    public var sslContextCallback: NIOSSLContextCallback?
}
public final class NIOSSLContext: Sendable {
    public init(configuration: TLSConfiguration) throws {}
}
public struct NIOSSLClientExtensionValues: Hashable, Sendable {}
public struct NIOSSLContextConfigurationOverride: Sendable {
    public static let noChanges = NIOSSLContextConfigurationOverride()
}
public typealias NIOSSLContextCallback =
    @Sendable (NIOSSLClientExtensionValues, EventLoopPromise<NIOSSLContextConfigurationOverride>) -> Void
public enum NIOSSLVerificationResult: Sendable { case certificateVerified, failed }
public typealias NIOSSLCustomVerificationCallback = ([NIOSSLCertificate], EventLoopPromise<NIOSSLVerificationResult>) -> Void
public class NIOSSLHandler: ChannelInboundHandler, RemovableChannelHandler {
    public typealias InboundIn = ByteBuffer
}
@available(*, unavailable)
extension NIOSSLHandler: Sendable {}
public final class NIOSSLClientHandler: NIOSSLHandler {
    public init(
        context: NIOSSLContext, serverHostname: String?,
        customVerificationCallback: @escaping NIOSSLCustomVerificationCallback
    ) throws {}
}
public final class NIOSSLServerHandler: NIOSSLHandler {
    public init(context: NIOSSLContext) {}
}

// === NIOTLS
// SwiftNIO's words for TLS.
public enum TLSUserEvent: Equatable, Sendable {
    case handshakeCompleted(negotiatedProtocol: String?)
    case shutdownCompleted
}

// === NIOTransportServices (optional)
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
