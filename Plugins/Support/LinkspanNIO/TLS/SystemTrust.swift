#if NIO && canImport(Security)
internal import CNIOBoringSSL
private import Foundation
internal import LinkspanNetwork
private import Security

/// The authorities that an Apple system trusts: its own, those of the Keychain, and those of device management.
struct SystemTrust {
    /// The policy's own authorities, trusted besides.
    var anchors: [X509Certificate] = []

    /// Verifies the chain that a server showed.
    ///
    /// - Parameter presented: its certificates, the server's own first.
    /// - Returns: the verified chain with the root at its end, or why there is none.
    func verify(_ presented: [X509Certificate]) -> Result<[X509Certificate], ByteStreamError> {
        let certificates = presented.compactMap { $0.systemCertificate }
        guard certificates.count == presented.count else {
            return .failure(HandshakeFailure.unknown("a certificate cannot be read").error)
        }
        var made: SecTrust?
        // Without a name, which is compared by the rules that every back end shares.
        let status = SecTrustCreateWithCertificates(certificates as CFArray, SecPolicyCreateSSL(true, nil), &made)
        guard status == errSecSuccess, let trust = made else {
            return .failure(ByteStreamError(.unavailable, "the verification could not be set up"))
        }
        // A look-up in the network would hold up every stream of the loop.
        SecTrustSetNetworkFetchAllowed(trust, false)
        if !self.anchors.isEmpty {
            SecTrustSetAnchorCertificates(trust, self.anchors.compactMap { $0.systemCertificate } as CFArray)
            SecTrustSetAnchorCertificatesOnly(trust, false)
        }
        var error: CFError?
        guard SecTrustEvaluateWithError(trust, &error) else {
            let code = error.map { OSStatus(truncatingIfNeeded: CFErrorGetCode($0)) } ?? errSecNotTrusted
            let text = error.map { CFErrorCopyDescription($0) as String } ?? "no reason is known"
            return .failure(Self.failure(code, presented).rejection(text))
        }
        let chain = SecTrustCopyCertificateChain(trust) as? [SecCertificate] ?? []
        return .success(chain.compactMap { X509Certificate(der: Array(SecCertificateCopyData($0) as Data)) })
    }

    private static func failure(_ code: OSStatus, _ presented: [X509Certificate]) -> TLSFailure {
        switch code {
        case errSecCertificateExpired: .expired
        case errSecCertificateNotValidYet: .notYetValid
        case errSecInvalidExtendedKeyUsage: .wrongPurpose
        case errSecNotTrusted, errSecCreateChainFailed:
            presented.count > 1
                ? .untrustedRoot : presented.first?.isSelfIssued == true ? .selfSigned : .incompleteChain
        default: .untrustedRoot
        }
    }
}

extension X509Certificate {
    /// The certificate as the system's library knows it.
    fileprivate var systemCertificate: SecCertificate? {
        self.der.flatMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
    }

    /// Whether it names itself as its issuer.
    fileprivate var isSelfIssued: Bool { X509_check_issued(self.pointer, self.pointer) == X509_V_OK }
}
#endif
