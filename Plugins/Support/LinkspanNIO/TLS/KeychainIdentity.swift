#if NIO && canImport(Security)
private import Dispatch
private import Foundation
internal import LinkspanNetwork
internal import NIOCore
internal import NIOSSL
private import Security

/// A client's identity in the Keychain: a certificate, and a key that signs without being read.
struct KeychainIdentity {
    let certificate: NIOSSLCertificate
    let key: NIOSSLPrivateKey

    /// Finds the identity with a label.
    ///
    /// - Throws: `tlsUnusable` when there is none that the app may use.
    init(label: String) throws(ByteStreamError) {
        let query: [String: Any] = [
            kSecClass as String: kSecClassIdentity, kSecAttrLabel as String: label, kSecReturnRef as String: true,
        ]
        var found: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &found)
        guard status == errSecSuccess, let found, CFGetTypeID(found) == SecIdentityGetTypeID() else {
            throw Self.unusable(label, "error \(status)")
        }
        // A cast cannot check types of the Core Foundation; the number of this one was checked above.
        let identity = unsafeDowncast(found, to: SecIdentity.self)
        var (certificate, key): (SecCertificate?, SecKey?) = (nil, nil)
        guard SecIdentityCopyCertificate(identity, &certificate) == errSecSuccess, let certificate,
            SecIdentityCopyPrivateKey(identity, &key) == errSecSuccess, let key,
            let own = try? NIOSSLCertificate(bytes: Array(SecCertificateCopyData(certificate) as Data), format: .der)
        else { throw Self.unusable(label, "its certificate or key cannot be had") }
        self.certificate = own
        self.key = NIOSSLPrivateKey(customPrivateKey: KeychainKey(key: key, label: label))
    }

    private static func unusable(_ label: String, _ reason: String) -> ByteStreamError {
        ByteStreamError(.tlsUnusable, "the Keychain has no usable identity '\(label)': \(reason)")
    }
}

/// A private key of the Keychain or the Secure Enclave, which signs there.
private struct KeychainKey: NIOSSLCustomPrivateKey, Hashable {
    private struct CannotDecrypt: Error {}

    // The system's keys may be used on any thread, which their type does not say.
    nonisolated(unsafe) let key: SecKey
    let label: String

    static func == (left: Self, right: Self) -> Bool { left.key === right.key }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self.key)) }

    var signatureAlgorithms: [SignatureAlgorithm] {
        Self.algorithms.filter { SecKeyIsAlgorithmSupported(self.key, .sign, $0.system) }.map { $0.tls }
    }

    /// The algorithms of TLS 1.2 and 1.3 that the system's library has.
    private static let algorithms: [(tls: SignatureAlgorithm, system: SecKeyAlgorithm)] = [
        (.ecdsaSecp256R1Sha256, .ecdsaSignatureMessageX962SHA256),
        (.ecdsaSecp384R1Sha384, .ecdsaSignatureMessageX962SHA384),
        (.ecdsaSecp521R1Sha512, .ecdsaSignatureMessageX962SHA512),
        (.rsaPssRsaeSha256, .rsaSignatureMessagePSSSHA256), (.rsaPssRsaeSha384, .rsaSignatureMessagePSSSHA384),
        (.rsaPssRsaeSha512, .rsaSignatureMessagePSSSHA512), (.rsaPkcs1Sha256, .rsaSignatureMessagePKCS1v15SHA256),
        (.rsaPkcs1Sha384, .rsaSignatureMessagePKCS1v15SHA384), (.rsaPkcs1Sha512, .rsaSignatureMessagePKCS1v15SHA512),
    ]

    func sign(channel: any Channel, algorithm: SignatureAlgorithm, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        let promise = channel.eventLoop.makePromise(of: ByteBuffer.self)
        let bytes = Data(data.readableBytesView)
        // The user may be asked, so that it is not done on the loop.
        DispatchQueue.global().async {
            var error: Unmanaged<CFError>?
            guard let system = Self.algorithms.first(where: { $0.tls == algorithm })?.system,
                let signature = SecKeyCreateSignature(self.key, system, bytes as CFData, &error)
            else { return promise.fail(ByteStreamError(.tlsUnusable, "the key '\(self.label)' does not sign")) }
            promise.succeed(ByteBuffer(bytes: signature as Data))
        }
        return promise.futureResult
    }

    /// Not asked for by what this SDK speaks: in TLS 1.3, and with the key exchanges of 1.2 that are offered, nothing is
    /// encrypted to a client's key.
    func decrypt(channel: any Channel, data: ByteBuffer) -> EventLoopFuture<ByteBuffer> {
        channel.eventLoop.makeFailedFuture(CannotDecrypt())
    }
}
#endif
