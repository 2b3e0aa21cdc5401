#if NIO
private import CLinkspanRuntime
internal import CNIOBoringSSL
internal import CNIOBoringSSLShims
internal import LinkspanNetwork
internal import NIOSSL

/// The authorities that a policy trusts, and the verification of chains against them.
///
/// By BoringSSL itself, which verifies chains for SwiftNIO too, but tells SwiftNIO's users neither a reason nor the chain.
final class CertificateStore {
    /// The places of the system's authorities in distributions, when the environment does not say (`SSL_CERT_FILE`).
    private static let systemFiles = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"]

    private let store: OpaquePointer
    #if canImport(Security)
    /// Verifies in the store's place when the policy trusts the system's authorities, which no file has.
    private var system: SystemTrust?
    #endif

    init(_ policy: TLSPolicy) throws(ByteStreamError) {
        guard let store = X509_STORE_new() else { throw ByteStreamError.tlsNotSetUp }
        self.store = store
        if policy.trustsSystem { try self.addSystemRoots() }
        guard let bytes = try policy.ownRoots() else { return }
        guard let roots = X509Certificate.list(pem: bytes), !roots.isEmpty,
            roots.allSatisfy({ X509_STORE_add_cert(store, $0.pointer) == 1 })
        else { throw ByteStreamError.unusableRoots }
        #if canImport(Security)
        self.system?.anchors = roots
        #endif
    }

    deinit { X509_STORE_free(self.store) }

    private func addSystemRoots() throws(ByteStreamError) {
        #if canImport(Security)
        self.system = SystemTrust()
        #else
        // Only the environment's, and the default places of BoringSSL, which are those of OpenSSL.
        let hasDefaults = X509_STORE_set_default_paths(self.store) == 1
        let hasOwn = [X509_get_default_cert_file_env(), X509_get_default_cert_dir_env()].contains { name in
            name.map { getenv($0) != nil } ?? false
        }
        let added = hasOwn ? 0 : Self.systemFiles.count { X509_STORE_load_locations(self.store, $0, nil) == 1 }
        ERR_clear_error()
        guard hasDefaults || added > 0 else { throw ByteStreamError.noSystemRoots }
        #endif
    }

    /// Verifies the chain that a server showed.
    ///
    /// - Parameter presented: its certificates, the server's own first.
    /// - Returns: the verified chain with the root at its end, or why there is none.
    func verify(_ presented: [X509Certificate]) -> Result<[X509Certificate], ByteStreamError> {
        #if canImport(Security)
        if let system = self.system { return system.verify(presented) }
        #endif
        guard let leaf = presented.first, let context = X509_STORE_CTX_new(),
            let others = CNIOBoringSSLShims_sk_X509_new_null()
        else { return .failure(HandshakeFailure.unknown("there is no certificate").error) }
        // The stack does not own what is in it.
        defer {
            X509_STORE_CTX_free(context)
            CNIOBoringSSLShims_sk_X509_pop_free(others) { X509_free($0) }
        }
        for certificate in presented.dropFirst() where X509_up_ref(certificate.pointer) == 1 {
            _ = CNIOBoringSSLShims_sk_X509_push(others, certificate.pointer)
        }
        guard X509_STORE_CTX_init(context, self.store, leaf.pointer, others) == 1,
            X509_STORE_CTX_set_default(context, "ssl_server") == 1
        else { return .failure(ByteStreamError(.unavailable, "the verification could not be set up")) }
        guard X509_verify_cert(context) == 1 else {
            ERR_clear_error()
            let error = X509_STORE_CTX_get_error(context)
            let failure = Self.failure(error, depth: X509_STORE_CTX_get_error_depth(context))
            return .failure(failure.rejection(String(cString: X509_verify_cert_error_string(CLong(error)))))
        }
        let list = X509_STORE_CTX_get0_chain(context)
        let chain = (0..<CNIOBoringSSLShims_sk_X509_num(list)).compactMap {
            X509Certificate(sharing: CNIOBoringSSLShims_sk_X509_value(list, $0))
        }
        return .success(chain)
    }

    private static func failure(_ error: CInt, depth: CInt) -> TLSFailure {
        switch error {
        case X509_V_ERR_CERT_HAS_EXPIRED: .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: .notYetValid
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: .selfSigned
        case X509_V_ERR_INVALID_PURPOSE: .wrongPurpose
        case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
            X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            depth == 0 ? .incompleteChain : .untrustedRoot
        default: .untrustedRoot
        }
    }
}
#endif
