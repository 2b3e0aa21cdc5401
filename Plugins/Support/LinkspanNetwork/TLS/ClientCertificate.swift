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
    }

    /// The source of a private key.
    public enum Key: Sendable, Hashable {
        /// This PEM file.
        case file(String)
        /// This PEM text.
        case pem(Secret)
    }
}

extension ClientCertificate: CustomStringConvertible {
    /// A description of the certificate, with no more of the key than its file's name.
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
    /// The caller is responsible for keeping it out of logs, files and messages.
    public var exposed: String? {
        switch self {
        case .file: nil
        case .pem(let secret): secret.exposed
        }
    }
}
