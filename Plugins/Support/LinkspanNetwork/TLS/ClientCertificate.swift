public import Linkspan

/// What is shown to a server that asks who connects: a certificate and its private key.
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

    /// Where a certificate comes from.
    public enum Certificate: Sendable, Hashable {
        /// This PEM file.
        case file(String)
        /// This PEM text.
        case pem([UInt8])
    }

    /// Where a private key comes from.
    public enum Key: Sendable, Hashable {
        /// This PEM file.
        case file(String)
        /// This PEM text.
        case pem(Secret)
    }
}

extension ClientCertificate: CustomStringConvertible {
    /// Which certificate it is, and nothing of the key but its file's name.
    public var description: String {
        let key =
            switch self.key {
            case .file(let path): "key in \(path)"
            case .pem: "key <redacted>"
            }
        switch self.certificate {
        case .file(let path): return "certificate in \(path), \(key)"
        case .pem(let bytes): return "own certificate (\(PEMText.summary(bytes))), \(key)"
        }
    }
}

extension ClientCertificate.Key {
    /// The key's PEM text, nil for one in a file.
    ///
    /// Whoever takes it answers for where it goes.
    public var exposed: String? {
        switch self {
        case .file: nil
        case .pem(let secret): secret.exposed
        }
    }
}
