#if NIO
#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#elseif canImport(Android)
private import Android
#endif

internal import LinkspanNetwork
internal import NIOCore
#if canImport(NIOTransportServices) && canImport(Network)
private import Network
#endif

extension DialFailure {
    /// Reads the error of a connection that was not made.
    init(_ error: any Error) {
        #if canImport(NIOTransportServices) && canImport(Network)
        switch error as? NWError {
        case .posix(let code):
            self = .connect(Self.text(of: code.rawValue))
            return
        // Network.framework looks names up by itself.
        case .dns:
            self = .rejected(ByteStreamError(.nameNotResolved, "the host's name was not resolved: \(error)"))
            return
        default: ()
        }
        #endif
        self = .connect((error as? IOError).map { Self.text(of: $0.errnoCode) } ?? "\(error)")
    }

    private static func text(of code: CInt) -> String {
        strerror(code).map { String(cString: $0) } ?? "error \(code)"
    }
}

/// Whether an error of a channel says only that there is no connection any more.
func isOfTransport(_ error: any Error) -> Bool {
    #if canImport(NIOTransportServices) && canImport(Network)
    if error is NWError { return true }
    #endif
    return error is IOError || error is ChannelError
}
#endif
