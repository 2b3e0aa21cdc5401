#if NIO
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import NIOCore
#if canImport(NIOTransportServices) && canImport(Network)
private import Darwin
private import Network
#endif

extension DialFailure {
    /// Reads the error of a connection that was not made.
    init(_ error: any Error) {
        #if canImport(NIOTransportServices) && canImport(Network)
        switch error as? NWError {
        case .posix(let code):
            self = .connect(SystemProblem.text(of: code.rawValue))
            return
        // Network.framework looks names up by itself.
        case .dns:
            self = .rejected(ByteStreamError(.nameNotResolved, "the host's name was not resolved: \(error)"))
            return
        default: ()
        }
        #endif
        self = .connect((error as? IOError).map { SystemProblem.text(of: $0.errnoCode) } ?? "\(error)")
    }
}

/// Whether an error of a channel says only that the connection has ended, and nothing about a failure of TLS.
func isOfTransport(_ error: any Error) -> Bool {
    #if canImport(NIOTransportServices) && canImport(Network)
    if error is NWError { return true }
    #endif
    return error is IOError || error is ChannelError
}
#endif
