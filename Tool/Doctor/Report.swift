/// A stage of a connection, in the order in which the doctor examines them.
enum Stage: String, Encodable, CaseIterable, Sendable {
    case name
    case address
    case proxy
    case tls
    case http
    case origin
    case upgrade
    case namespace
    case messageSize
    case polling
    case switching
    case heartbeat
}

/// What became of a stage.
struct StageResult: Encodable, Sendable {
    /// How a stage went.
    enum Outcome: String, Encodable, Sendable {
        case passed
        /// Works, but not for every client.
        case warned
        case failed
        case skipped
    }

    var stage: Stage
    var outcome: Outcome
    /// What was found, or why the stage was skipped.
    var detail: String
    var milliseconds = 0
}

/// The cause of a fault, and what to do about it.
struct Verdict: Error, Encodable, Hashable, Sendable {
    /// A kind of fault; its name is part of the JSON, for scripts.
    enum Code: String, Encodable, CaseIterable, Sendable {
        case nameNotResolved, connectionRefused, unreachable, deadAddress, proxyFailed
        case certificateExpired, certificateNotYetValid, certificateWrongName, certificateSelfSigned
        case certificateUntrusted, certificateIncomplete, certificateRejected, pinMismatch
        case tlsVersion, clientCertificateWanted, tlsFailed, plainServer, tlsRequired
        case noAnswer, hungUp, notHTTP, notFound, unauthorized, forbidden, redirected, badGateway, unavailable
        case gatewayTimeout, serverError, refused
        case notSocketIO, notWebSocket, oldProtocol, originRefused, corsMissing
        case upgradeStripped, upgradeRefused, pollingOnly, badHandshake, subprotocolMissing, closedAfterUpgrade, noOpen
        case upgradeSilent, pollingSilent, namespaceRefused, authRefused, namespaceSilent
        case messageLimit, sessionsSplit, switchFailed, noPings, pingTimeoutTooShort, noPong, idleCut, closedByServer
    }

    var code: Code
    var cause: String
    var remedy: String

    init(_ code: Code, _ cause: String, _ remedy: String) {
        (self.code, self.cause, self.remedy) = (code, cause, remedy)
    }
}

/// The result of an examination.
struct Report: Encodable, Sendable {
    /// The summary of all stages.
    enum Health: String, Encodable, Sendable { case healthy, warning, fault }

    var url: String
    private(set) var health = Health.healthy
    /// The first fault, or else the first warning.
    private(set) var verdict: Verdict?
    private(set) var stages: [StageResult] = []

    init(url: String) { self.url = url }

    /// Adds a result; a fault takes the place of a warning.
    mutating func add(_ result: StageResult, _ verdict: Verdict?) {
        self.stages.append(result)
        switch result.outcome {
        case .failed where self.health != .fault: (self.health, self.verdict) = (.fault, verdict)
        case .warned where self.health == .healthy: (self.health, self.verdict) = (.warning, verdict)
        default: ()
        }
    }
}
