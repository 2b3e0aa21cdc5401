#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork

/// Makes OpenSSL's form of the options for TLS.
enum TLSContext {
    /// The ex-data index of a connection's failure reason.
    static let note = clws_tls_make_note_place()

    /// Follows the handshakes of all connections.
    private static let progress: @convention(c) (OpaquePointer?, CInt, CInt) -> Void = { connection, place, result in
        if let connection { clws_tls_progress(connection, place, result, TLSContext.note) }
    }

    /// The caller frees what it gets.
    static func make(_ policy: TLSPolicy) throws(ByteStreamError) -> OpaquePointer {
        guard Self.note >= 0, let tls = clws_tls_create(policy.minimumVersion == .tls13, Self.progress) else {
            throw ByteStreamError.tlsNotSetUp
        }
        do throws(ByteStreamError) {
            try Self.addRoots(policy, to: tls)
            if let certificate = policy.clientCertificate { try Self.use(certificate, in: tls) }
        } catch {
            SSL_CTX_free(tls)
            throw error
        }
        return tls
    }

    private static func addRoots(_ policy: TLSPolicy, to tls: OpaquePointer) throws(ByteStreamError) {
        if policy.trustsSystem, !clws_tls_add_system_roots(tls) { throw ByteStreamError.noSystemRoots }
        guard let bytes = try policy.ownRoots() else { return }
        guard bytes.withUnsafeBytes({ clws_tls_add_roots(tls, $0.baseAddress, $0.count) }) > 0 else {
            throw ByteStreamError.unusableRoots
        }
    }

    private static let notInKeychain = ByteStreamError(
        .tlsUnusable, "libwebsockets cannot use an identity of the Keychain; choose the network nio")

    private static func use(_ identity: ClientCertificate, in tls: OpaquePointer) throws(ByteStreamError) {
        guard let bytes = try identity.pem() else { throw Self.notInKeychain }
        guard bytes.withUnsafeBytes({ clws_tls_use_certificate(tls, $0.baseAddress, $0.count) }) else {
            throw ByteStreamError.unusableCertificate
        }
        let isUsable: Bool
        switch identity.key {
        case .file(let path):
            try CertificateFile.check(path)
            isUsable = clws_tls_use_key_file(tls, path)
        case .pem:
            var text = identity.key.exposed ?? ""
            isUsable = text.withUTF8 { clws_tls_use_key(tls, $0.baseAddress, $0.count) }
        #if canImport(Security)
        case .keychain: throw Self.notInKeychain
        #endif
        }
        guard isUsable else { throw ByteStreamError.unusableKey }
    }
}
#endif
