/// The digest of a public key that a server's chain of certificates must have, or must not have.
///
/// It is the SHA-256 of the key as a certificate holds it, its SubjectPublicKeyInfo, in the text form of RFC 7469:
/// `sha256/` and 44 characters of base64. For a certificate in PEM, OpenSSL tells it by
/// `openssl x509 -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64`.
public struct PublicKeyPin: Sendable, Hashable {
    /// The 32 bytes of the digest.
    public let digest: [UInt8]

    /// Reads a pin.
    ///
    /// - Parameter text: `sha256/` and the digest in base64.
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration` for anything else.
    public init(_ text: String) throws(LinkspanError) {
        let prefix = "sha256/"
        guard text.hasPrefix(prefix), let digest = Self.decode(Array(text.utf8.dropFirst(prefix.utf8.count)))
        else {
            throw LinkspanError(
                .invalidConfiguration, "a pin is sha256/ and 44 characters of base64, the digest of a public key")
        }
        self.digest = digest
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    /// Decodes the one spelling of 32 bytes: 43 characters and a padding, the bits too many being zero.
    private static func decode(_ text: [UInt8]) -> [UInt8]? {
        guard text.count == 44, text.last == UInt8(ascii: "=") else { return nil }
        var bytes: [UInt8] = []
        var (bits, count): (UInt32, Int) = (0, 0)
        for character in text.dropLast() {
            guard let value = Self.alphabet.firstIndex(of: character) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            guard count >= 8 else { continue }
            count -= 8
            bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            bits &= (1 << UInt32(count)) - 1
        }
        return bits == 0 ? bytes : nil
    }
}

extension PublicKeyPin {
    /// The pin as it is written.
    public var text: String {
        var text = "sha256/"
        for start in stride(from: 0, to: self.digest.count, by: 3) {
            let group = self.digest[start..<min(start + 3, self.digest.count)]
            let bits = (0..<3).reduce(UInt32(0)) { bits, place in
                bits << 8 | UInt32(place < group.count ? group[start + place] : 0)
            }
            for place in 0..<4 {
                guard place <= group.count else {
                    text += "="
                    continue
                }
                let value = Int(bits >> UInt32(18 - 6 * place) & 0x3F)
                text.unicodeScalars.append(Unicode.Scalar(Self.alphabet[value]))
            }
        }
        return text
    }
}

extension PublicKeyPin: CustomStringConvertible, CustomReflectable {
    /// Which pin it is among those of this process, without telling it: logs are read by more people than may know which
    /// keys an app trusts.
    public var description: String { "pin <\(String(UInt(bitPattern: self.digest.hashValue), radix: 16))>" }

    /// The same as ``description``, for dumps.
    public var customMirror: Mirror { Mirror(self, children: ["digest": self.description]) }
}
