public import Foundation
internal import Linkspan
internal import LinkspanNetwork

/// The standard close codes (RFC 6455 section 7.4.1).
public enum CloseCode: UInt16 {
    /// The purpose of the link is fulfilled.
    case normal = 1000
    /// A server stops, or a user leaves.
    case goingAway = 1001
    /// The other side broke the protocol.
    case protocolError = 1002
    /// A message is of a kind that is not taken.
    case protocolUnhandledType = 1003
    /// The Close frame had no code; never on the wire.
    case noStatusReceived = 1005
    /// The data does not fit its type.
    case encoding = 1007
    /// A message breaks a policy.
    case policyViolated = 1008
    /// A message is too large.
    case messageTooBig = 1009
}

/// The kind of a ``WSError``.
public enum ErrorType: Error {
    /// Compressed data cannot be read; it is a ``protocolError`` here.
    case compressionError
    /// The server could not be verified.
    case securityError
    /// The server broke the protocol.
    case protocolError
    /// The server could not be reached, or was lost.
    case serverError
}

/// The codes of errors of type ``ErrorType/securityError``.
public enum SecurityErrorCode: UInt16 {
    /// The server could not be verified.
    case acceptFailed = 1
    /// No key of the server's chain is pinned, or one is revoked.
    case pinningFailed = 2
}

/// The reason why a link failed.
public struct WSError: Error, LocalizedError {
    /// The kind.
    public let type: ErrorType
    /// One sentence for a person.
    public let message: String
    /// A ``CloseCode`` or a ``SecurityErrorCode``, by the kind; 0 for ``ErrorType/serverError``.
    public let code: UInt16
    /// The `LinkspanError` underneath; nil for errors that an app makes.
    public internal(set) var cause: (any Error)?

    /// Makes an error.
    public init(type: ErrorType, message: String, code: UInt16) {
        (self.type, self.message, self.code) = (type, message, code)
    }

    /// The message.
    public var errorDescription: String? { self.message }
}

/// The reason why the server's response to the upgrade opened no link.
public enum HTTPUpgradeError: Error {
    /// The server answered with another status than 101; its header fields are not kept.
    case notAnUpgrade(Int, [String: String])
    /// Never sent: such a response is a ``WSError`` of type ``ErrorType/protocolError``.
    case invalidData
}

extension WebSocketEvent {
    /// The end of a link, or of an attempt to open one.
    init(_ error: LinkspanError, wasOpen: Bool) {
        switch (error.webSocketClose, error.httpStatus) {
        case (let close?, _): self = .disconnected(close.reason, close.code)
        case _ where wasOpen && error.code == .connectionLost: self = .peerClosed
        case (nil, let status?): self = .error(HTTPUpgradeError.notAnUpgrade(status, [:]))
        case (nil, nil): self = .error(WSError(error))
        }
    }
}

extension WSError {
    init(_ error: LinkspanError) {
        let isPin = error.tlsFailure == .pinMismatch || error.tlsFailure == .revokedKey
        let (type, code): (ErrorType, UInt16) =
            switch error.code {
            case .tlsFailed: (.securityError, (isPin ? SecurityErrorCode.pinningFailed : .acceptFailed).rawValue)
            case .protocolViolation: (.protocolError, CloseCode.protocolError.rawValue)
            default: (.serverError, 0)
            }
        self.init(type: type, message: error.message, code: code)
        self.cause = error
    }
}
