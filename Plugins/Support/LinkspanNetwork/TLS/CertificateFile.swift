internal import LinkspanRuntime

extension TLSPolicy {
    /// Whether the system's authorities are trusted.
    package var trustsSystem: Bool { self.addsSystemRoots || self.roots == .system }

    /// The policy's own authorities in PEM; nil for none.
    package func ownRoots() throws(ByteStreamError) -> [UInt8]? {
        switch self.roots {
        case .system: nil
        case .file(let path): try CertificateFile.read(path)
        case .pem(let pem): pem
        }
    }
}

extension ClientCertificate {
    /// The certificate in PEM; nil for one in the Keychain.
    package func pem() throws(ByteStreamError) -> [UInt8]? {
        switch self.certificate {
        case .file(let path): try CertificateFile.read(path)
        case .pem(let pem): pem
        #if canImport(Security)
        case .keychain: nil
        #endif
        }
    }
}

extension ByteStreamError {
    package static let tlsNotSetUp = Self(.unavailable, "TLS could not be set up")
    package static let noSystemRoots = Self(.tlsUnusable, "the system's trusted certificates cannot be read")
    package static let unusableRoots = Self(.tlsUnusable, "the trusted certificates are not usable PEM")
    package static let unusableCertificate = Self(
        .tlsUnusable, "the client certificate is not usable PEM, or too weak")
    package static let unusableKey = Self(
        .tlsUnusable, "the client certificate's key is not usable PEM, or not its key")
}

/// Reads the files that a TLS policy names.
package enum CertificateFile {
    /// More than any bundle of authorities has, in bytes.
    private static let limit = 16 << 20

    static func read(_ path: String) throws(ByteStreamError) -> [UInt8] {
        do throws(RegularFile.Failure) {
            return try RegularFile.read(path, limit: Self.limit)
        } catch {
            throw ByteStreamError(.tlsUnusable, "\(path) cannot be read: \(error.reason)")
        }
    }

    /// Checks a file that is read later.
    package static func check(_ path: String) throws(ByteStreamError) {
        do throws(RegularFile.Failure) {
            try RegularFile.check(path)
        } catch {
            throw ByteStreamError(.tlsUnusable, "\(path) cannot be read: \(error.reason)")
        }
    }
}
