internal import CLibwebsockets

/// Makes OpenSSL's form of the options for TLS.
enum TLSContext {
    /// Where OpenSSL keeps a connection's reason to fail for us.
    static let note = clws_tls_make_note_place()

    /// Follows the handshakes of all connections.
    private static let progress: @convention(c) (OpaquePointer?, CInt, CInt) -> Void = { connection, place, result in
        if let connection { clws_tls_progress(connection, place, result, TLSContext.note) }
    }

    /// The caller frees what it gets.
    static func make(_ options: TLSOptions) throws(ByteStreamError) -> OpaquePointer {
        guard Self.note >= 0, let tls = clws_tls_create(options.minimumVersion == .tls13, Self.progress) else {
            throw ByteStreamError(.unavailable, "TLS could not be set up")
        }
        do throws(ByteStreamError) {
            try Self.addRoots(options, to: tls)
            if let identity = options.identity { try Self.use(identity, in: tls) }
        } catch {
            SSL_CTX_free(tls)
            throw error
        }
        return tls
    }

    private static func addRoots(_ options: TLSOptions, to tls: OpaquePointer) throws(ByteStreamError) {
        if options.addsSystemRoots || options.trustRoots.source == nil {
            guard clws_tls_add_system_roots(tls) else {
                throw ByteStreamError(.tlsUnusable, "the system's trusted certificates cannot be read")
            }
        }
        guard let source = options.trustRoots.source else { return }
        let bytes = try Self.bytes(of: source)
        guard bytes.withUnsafeBytes({ clws_tls_add_roots(tls, $0.baseAddress, $0.count) }) > 0 else {
            throw ByteStreamError(.tlsUnusable, "the trusted certificates are not usable PEM")
        }
    }

    private static func use(_ identity: TLSOptions.Identity, in tls: OpaquePointer) throws(ByteStreamError) {
        let bytes = try Self.bytes(of: identity.certificate)
        guard bytes.withUnsafeBytes({ clws_tls_use_certificate(tls, $0.baseAddress, $0.count) }) else {
            throw ByteStreamError(.tlsUnusable, "the client certificate is not usable PEM, or too weak")
        }
        let isUsable: Bool
        switch identity.key.source {
        case .file(let path): isUsable = clws_tls_use_key_file(tls, path)
        case .pem(let hidden):
            var text = hidden.text
            isUsable = text.withUTF8 { clws_tls_use_key(tls, $0.baseAddress, $0.count) }
        }
        guard isUsable else {
            throw ByteStreamError(.tlsUnusable, "the client certificate's key is not usable PEM, or not its key")
        }
    }

    private static func bytes(of source: TLSOptions.Source) throws(ByteStreamError) -> [UInt8] {
        switch source {
        case .file(let path): try CertificateFile.read(path)
        case .pem(let bytes): bytes
        }
    }
}
