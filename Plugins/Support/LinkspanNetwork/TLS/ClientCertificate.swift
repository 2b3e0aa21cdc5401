public import Linkspan

/// A certificate and its private key for servers that ask for a client certificate.
///
/// Both are PEM; the key has no password. Files are read once by each event loop, when it first needs them. The key's
/// text is handed to the TLS library where it lies, without a copy; a key in a file never comes into the SDK's memory.
public struct ClientCertificate: Sendable, Hashable {
    /// The certificate, and those of its issuers after it.
    public var certificate: Certificate
    /// The certificate's key.
    public var key: Key

    /// Makes an identity.
    public init(_ certificate: Certificate, key: Key) {
        self.certificate = certificate
        self.key = key
    }

    /// The source of a certificate.
    public enum Certificate: Sendable, Hashable {
        /// This PEM file.
        case file(String)
        /// This PEM text.
        case pem([UInt8])
        #if canImport(Security)
        /// The identity with this label in the Keychain, whose key it takes as well.
        case keychain(label: String)
        #endif
    }

    /// The source of a private key.
    public enum Key: Sendable, Hashable {
        /// This PEM file.
        case file(String)
        /// This PEM text.
        case pem(Secret)
        #if canImport(Security)
        /// The key of the identity in the Keychain, which signs without being read.
        case keychain
        #endif
    }
}

#if canImport(Security)
extension ClientCertificate {
    /// An identity in the Keychain; for the back end over SwiftNIO.
    ///
    /// - Parameter label: its label, `kSecAttrLabel`.
    /// - Returns: the identity.
    public static func keychain(label: String) -> Self { Self(.keychain(label: label), key: .keychain) }
}
#endif

extension ClientCertificate: CustomStringConvertible {
    /// A description of the certificate, with no more of the key than its file's name.
    public var description: String {
        let key =
            switch self.key {
            case .file(let path): "key in \(path)"
            case .pem: "key <redacted>"
            #if canImport(Security)
            case .keychain: "key in the Keychain"
            #endif
            }
        switch self.certificate {
        case .file(let path): return "certificate in \(path), \(key)"
        case .pem(let bytes): return "own certificate (\(PEMText.summary(bytes))), \(key)"
        #if canImport(Security)
        case .keychain(let label): return "identity '\(label)' in the Keychain"
        #endif
        }
    }
}

extension ClientCertificate.Key {
    /// The key's PEM text, nil for one in a file.
    ///
    /// The caller is responsible for keeping it out of logs, files and messages.
    package var exposed: String? { if case .pem(let secret) = self { secret.exposed } else { nil } }
}
