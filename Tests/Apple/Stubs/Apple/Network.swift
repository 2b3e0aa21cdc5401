// swift-format-ignore-file
// Network.framework, macOS 10.14 and iOS 12.
import Darwin
import Dispatch

public struct NWInterface: Sendable {
    public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
    public let type: InterfaceType
    public let name: String
}
public struct NWPath: Sendable {
    public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
    public enum UnsatisfiedReason: Sendable { case notAvailable, cellularDenied, wifiDenied, localNetworkDenied }
    public let status: Status
    public let availableInterfaces: [NWInterface]
    public let isExpensive: Bool
    public let isConstrained: Bool
}
public final class NWPathMonitor: Sendable {
    public init() {}
    @preconcurrency public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
        get { nil }
        set {}
    }
    public func start(queue: DispatchQueue) {}
    public func cancel() {}
}
public enum NWError: Error, Equatable, CustomDebugStringConvertible, Sendable {
    case posix(POSIXErrorCode)
    case dns(Int32)
    case tls(Int32)
    public var debugDescription: String { "" }
}
// Not Sendable before the SDKs of 2024.
public class NWParameters {
    public final var preferNoProxies: Bool { get { false } set {} }
}
