internal import Linkspan
internal import LinkspanLWS

extension TLSFailure {
    /// The reason in the SDK's terms, nil when it was not TLS.
    init?(_ code: ByteStreamError.Code) {
        guard let reason = Self.reasons[code] else { return nil }
        self = reason
    }

    private static let reasons: [ByteStreamError.Code: Self] = [
        .tlsExpired: .expired, .tlsNotYetValid: .notYetValid, .tlsHostMismatch: .wrongHost,
        .tlsWildcardMisuse: .wildcardMisuse, .tlsAddressMismatch: .wrongAddress, .tlsSelfSigned: .selfSigned,
        .tlsUntrusted: .untrustedRoot, .tlsIncompleteChain: .incompleteChain, .tlsWeakKey: .weakKey,
        .tlsWrongPurpose: .wrongPurpose, .tlsPinMismatch: .pinMismatch, .tlsRevokedKey: .revokedKey,
        .tlsVersion: .versionTooOld, .tlsCut: .handshakeCut, .tlsIdentityRefused: .clientCertificateRefused,
        .tlsFailed: .other,
    ]
}
