import ArgumentParser
import Linkspan

/// How `chat probe` ends: the statuses of sysexits.h, so that scripts can tell failures apart.
enum ProbeExit: Int32, Sendable {
    /// All that was asked for has happened.
    case done = 0
    /// The arguments, or a line, cannot be understood.
    case usage = 64
    /// The server cannot be reached, or the connection was lost.
    case unavailable = 69
    /// An acknowledgement, or the event of `--until`, was not received in time.
    case timedOut = 75
    /// The server speaks something else.
    case `protocol` = 76
    /// The server refuses.
    case refused = 77

    /// The exit status and message for an error.
    init(_ error: LinkspanError) {
        switch error.code {
        case .invalidURL, .invalidConfiguration, .encodingFailed: self = .usage
        case .timedOut: self = .timedOut
        case .protocolViolation, .unsupportedVersion, .tlsFailed, .redirected: self = .protocol
        case .credentialsRefused, .refused, .closedByServer, .proxyRefused: self = .refused
        default: self = .unavailable
        }
    }

    var code: ExitCode { ExitCode(self.rawValue) }

    /// The statuses, for the help text.
    static let manual = """
        Exit status: 0 when all that was asked for has happened; 64 for a mistake in the arguments or in a line; 69 when the \
        server cannot be reached or the connection is lost; 75 when an acknowledgement or the event of --until has not come \
        in time; 76 when the server speaks something else; 77 when it refuses.
        """
}
