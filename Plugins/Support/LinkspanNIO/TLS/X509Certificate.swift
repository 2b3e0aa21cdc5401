#if NIO
internal import CNIOBoringSSL
internal import CNIOBoringSSLShims
internal import LinkspanNetwork
internal import NIOSSL

/// A certificate as BoringSSL has it.
final class X509Certificate {
    let pointer: OpaquePointer

    /// Takes over a certificate.
    private init(_ pointer: OpaquePointer) { self.pointer = pointer }

    /// Shares a certificate that belongs to somebody else.
    init?(sharing pointer: OpaquePointer?) {
        guard let pointer, X509_up_ref(pointer) == 1 else { return nil }
        self.pointer = pointer
    }

    convenience init?(_ certificate: NIOSSLCertificate) {
        guard let bytes = try? certificate.toDERBytes() else { return nil }
        self.init(der: bytes)
    }

    convenience init?(der bytes: [UInt8]) {
        let pointer = bytes.withUnsafeBufferPointer { bytes in
            var next = bytes.baseAddress
            return d2i_X509(nil, &next, bytes.count)
        }
        guard let pointer else { return nil }
        self.init(pointer)
    }

    deinit { X509_free(self.pointer) }

    /// The certificate in DER.
    var der: [UInt8]? {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509(self.pointer, &bytes)
        defer { OPENSSL_free(bytes) }
        guard count > 0, let bytes else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    /// Every certificate of a PEM text; nil when one is unusable.
    static func list(pem: [UInt8]) -> [X509Certificate]? {
        var list: [X509Certificate] = []
        let isRead = pem.withUnsafeBytes { bytes in
            guard let text = BIO_new_mem_buf(bytes.baseAddress, bytes.count) else { return false }
            defer { BIO_free(text) }
            ERR_clear_error()
            while let pointer = PEM_read_bio_X509(text, nil, nil, nil) { list.append(X509Certificate(pointer)) }
            defer { ERR_clear_error() }
            return ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE
        }
        return isRead ? list : nil
    }

    /// The SHA-256 of the certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
    var pin: PublicKeyPin? {
        var key: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(self.pointer), &key)
        defer { OPENSSL_free(key) }
        guard count > 0, let key else { return nil }
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(key, Int(count), &digest)
        return PublicKeyPin(digest: digest)
    }

    // MARK: Strength

    /// Whether the key has less than 112 bits of security (NIST SP 800-57, table 2), or is of an unknown kind.
    var hasWeakKey: Bool {
        guard let key = X509_get_pubkey(self.pointer) else { return true }
        defer { EVP_PKEY_free(key) }
        switch EVP_PKEY_id(key) {
        case EVP_PKEY_RSA: return EVP_PKEY_bits(key) < 2048
        case EVP_PKEY_EC: return EVP_PKEY_bits(key) < 224
        case EVP_PKEY_ED25519: return false
        default: return true
        }
    }

    /// Whether the issuer signed by a digest with less than 112 bits of security.
    var hasWeakSignature: Bool {
        let weak = [
            NID_md5WithRSAEncryption, NID_sha1WithRSAEncryption, NID_sha1WithRSA, NID_ecdsa_with_SHA1, NID_dsaWithSHA1,
        ]
        return weak.contains(X509_get_signature_nid(self.pointer))
    }

    // MARK: Names

    /// Whether the certificate was issued to a host; its common name does not count (RFC 9525 section 2).
    func isFor(_ host: String, isAddress: Bool) -> Bool {
        if isAddress { return X509_check_ip_asc(self.pointer, host, 0) == 1 }
        let rules = UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT)
        return X509_check_host(self.pointer, host, host.utf8.count, rules, nil) == 1
    }

    /// The reason why the certificate is not for a host.
    func mismatch(_ host: String, isAddress: Bool) -> TLSFailure {
        let names = self.hostNames
        if !names.hasHost { return .noSubjectAltName }
        if isAddress { return .wrongAddress }
        return names.patterns.contains { Self.covers($0, host) } ? .wildcardMisuse : .wrongHost
    }

    /// The names with an asterisk in the subjectAltName, and whether it has any host's name or address.
    private var hostNames: (hasHost: Bool, patterns: [String]) {
        guard let names = X509_get_ext_d2i(self.pointer, NID_subject_alt_name, nil, nil) else { return (false, []) }
        let list = OpaquePointer(names)
        defer { GENERAL_NAMES_free(list) }
        var (hasHost, patterns) = (false, [String]())
        for index in 0..<CNIOBoringSSLShims_sk_GENERAL_NAME_num(list) {
            guard let name = CNIOBoringSSLShims_sk_GENERAL_NAME_value(list, index) else { continue }
            switch name.pointee.type {
            case GEN_IPADD: hasHost = true
            case GEN_DNS:
                hasHost = true
                guard let text = name.pointee.d.dNSName, let bytes = ASN1_STRING_get0_data(text) else { continue }
                let count = Int(ASN1_STRING_length(text))
                let pattern = String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
                if pattern.contains("*") { patterns.append(pattern) }
            default: ()
            }
        }
        return (hasHost, patterns)
    }

    /// Whether a name with an asterisk would stand for `host` if an asterisk stood for anything.
    private static func covers(_ pattern: String, _ host: String) -> Bool {
        let parts = pattern.lowercased().split(separator: "*", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { return false }
        let host = host.lowercased()
        return host.utf8.count >= pattern.utf8.count - 1 && host.hasPrefix(parts[0]) && host.hasSuffix(parts[1])
    }
}
#endif
