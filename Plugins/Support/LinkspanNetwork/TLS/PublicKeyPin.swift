public import Linkspan
internal import LinkspanWebSocketProtocol

/// The digest of a public key that a server's chain of certificates must have, or must not have.
///
/// It is the SHA-256 of the key as a certificate holds it, its SubjectPublicKeyInfo, in the text form of RFC 7469:
/// `sha256/` and 44 characters of base64. For a certificate in PEM, OpenSSL tells it by
/// `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
public struct PublicKeyPin: Sendable, Hashable {
    /// The 32 bytes of the digest.
    package let digest: [UInt8]

    /// Reads a pin.
    ///
    /// - Parameter text: `sha256/` and the digest in base64.
    /// - Throws: ``/Linkspan/LinkspanError`` with code `invalidConfiguration` for anything else.
    public init(_ text: String) throws(LinkspanError) {
        guard text.hasPrefix(Self.prefix),
            let digest = Base64.decode(Array(text.utf8.dropFirst(Self.prefix.utf8.count))[...]), digest.count == 32
        else {
            throw LinkspanError(
                .invalidConfiguration, "'\(text)' is no pin: sha256/ and 44 characters of base64, the digest of a key")
        }
        self.digest = digest
    }

    /// Makes a pin of a digest; nil unless it has 32 bytes.
    package init?(digest: [UInt8]) {
        guard digest.count == 32 else { return nil }
        self.digest = digest
    }
}

extension PublicKeyPin {
    /// The pin as it is written.
    package var text: String { Self.prefix + Base64.encode(self.digest) }

    fileprivate static let prefix = "sha256/"
}

extension PublicKeyPin: CustomStringConvertible, CustomReflectable {
    /// A number that distinguishes the pin within this process, without its digest.
    ///
    /// Logs are read by more people than may know which keys an app trusts.
    public var description: String { "pin <\(String(UInt(bitPattern: self.digest.hashValue), radix: 16))>" }

    /// The same as ``description``, for dumps.
    public var customMirror: Mirror { Mirror(self, children: ["digest": self.description]) }
}
