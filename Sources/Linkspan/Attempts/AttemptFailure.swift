internal import Logging

/// A failed attempt, or a loss after which there is none, for the log and for the requests that wait.
struct AttemptFailure: Sendable {
    let error: LinkspanError
    /// Whether it is the first of its outage.
    let isFirst: Bool
    /// Whether no further attempt follows.
    let isFinal: Bool
    /// Whether the connection was never up, and no other endpoint is left.
    let isUnproven: Bool

    /// Whether waiting hardly helps; see ``BufferLimits/failsFast``.
    var endsRequests: Bool {
        self.isUnproven && [.connectionLost, .nameNotResolved, .protocolViolation].contains(self.error.code)
    }

    func log(to logger: Logger) {
        let outlook = self.isFinal ? "no further attempt is made" : "attempts go on"
        logger.notice(
            "\(ForeignText.line(self.error.message, limit: 500)); \(outlook). Check \(self.advice).",
            metadata: ["code": "\(self.error.code.rawValue)"])
    }

    private var advice: String {
        switch self.error.code {
        case .connectionLost: "host and port, and whether the server runs"
        case .nameNotResolved: "the host name, and whether this device has a network"
        case .timedOut: "host and port, and whether a firewall is between"
        case .tlsFailed: "whether the server speaks TLS at this port, and its certificate"
        case .refused: "path, namespace and credentials"
        case .credentialsRefused, .credentialsUnavailable: "the credentials and their provider"
        case .protocolViolation, .unsupportedVersion: "which protocol the server speaks at this port and path"
        default: "the server and the options of the transport"
        }
    }
}
