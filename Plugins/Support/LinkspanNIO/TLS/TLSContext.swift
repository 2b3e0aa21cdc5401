#if NIO
internal import LinkspanNetwork
internal import NIOCore
internal import NIOSSL

/// A policy as SwiftNIO and BoringSSL need it.
final class TLSContext {
    private let context: NIOSSLContext
    private let store: CertificateStore

    /// Makes the configuration for the policy of a request and its listener, if it has one.
    init(_ request: StreamRequest) throws(ByteStreamError) {
        self.store = try CertificateStore(request.tls)
        var settings = TLSConfiguration.makeClientConfiguration()
        settings.minimumTLSVersion = request.tls.minimumVersion == .tls13 ? .tlsv13 : .tlsv12
        settings.applicationProtocols = ["http/1.1"]
        // The store verifies; these would be read for nothing.
        settings.trustRoots = .certificates([])
        settings.certificateVerification = .noHostnameVerification
        if let identity = request.tls.clientCertificate { try Self.use(identity, in: &settings) }
        // At a client it is called when a server asks for a certificate, and for nothing else.
        if let tell = request.onHandshake {
            settings.sslContextCallback = { _, change in
                tell(.certificateRequest)
                change.succeed(.noChanges)
            }
        }
        do {
            self.context = try NIOSSLContext(configuration: settings)
        } catch {
            throw request.tls.clientCertificate == nil ? ByteStreamError.tlsNotSetUp : .unusableKey
        }
    }

    /// The handler that speaks TLS with the server of a request; `onRejection` hears why the server's certificate is not
    /// accepted, before the handshake fails.
    func handler(
        for request: StreamRequest, onRejection: @escaping (ByteStreamError) -> Void
    ) throws -> NIOSSLClientHandler {
        let host = request.serverName
        let isAddress = NumericAddress.isIPv4(host) || NumericAddress.isIPv6(host)
        let check = CertificateCheck(host: host, isAddress: isAddress, policy: request.tls, store: self.store)
        // An address must not be sent as server name (RFC 6066 section 3).
        return try NIOSSLClientHandler(context: self.context, serverHostname: isAddress ? nil : host) { chain, result in
            request.onHandshake?(.certificates(chain.compactMap { try? $0.toDERBytes() }))
            guard let error = check.problem(chain) else { return result.succeed(.certificateVerified) }
            onRejection(error)
            result.succeed(.failed)
        }
    }

    private static func use(
        _ identity: ClientCertificate, in settings: inout TLSConfiguration
    ) throws(ByteStreamError) {
        #if canImport(Security)
        if case .keychain(let label) = identity.certificate {
            let own = try KeychainIdentity(label: label)
            settings.certificateChain = [.certificate(own.certificate)]
            settings.privateKey = .privateKey(own.key)
            return
        }
        #endif
        guard let bytes = try identity.pem(), let own = try? NIOSSLCertificate.fromPEMBytes(bytes),
            let first = own.first, let leaf = X509Certificate(first), !leaf.hasWeakKey, !leaf.hasWeakSignature
        else { throw ByteStreamError.unusableCertificate }
        settings.certificateChain = own.map { .certificate($0) }
        switch identity.key {
        case .file(let path):
            try CertificateFile.check(path)
            guard let key = try? NIOSSLPrivateKey(file: path, format: .pem) else { throw ByteStreamError.unusableKey }
            settings.privateKey = .privateKey(key)
        case .pem:
            // SwiftNIO takes an array only; it is cleared as soon as the number was read.
            var text = Array((identity.key.exposed ?? "").utf8)
            defer { _ = text.withUnsafeMutableBytes { $0.initializeMemory(as: UInt8.self, repeating: 0) } }
            guard let key = try? NIOSSLPrivateKey(bytes: text, format: .pem) else { throw ByteStreamError.unusableKey }
            settings.privateKey = .privateKey(key)
        #if canImport(Security)
        case .keychain: throw ByteStreamError.unusableKey
        #endif
        }
    }
}

/// Our own look at a server's certificates, in place of SwiftNIO's and before any request is sent.
struct CertificateCheck {
    let host: String
    let isAddress: Bool
    let policy: TLSPolicy
    let store: CertificateStore

    /// The reason why the chain that a server showed is not accepted; nil when it is.
    func problem(_ presented: [NIOSSLCertificate]) -> ByteStreamError? {
        let certificates = presented.compactMap { X509Certificate($0) }
        // With one left out, another would stand for the server.
        guard certificates.count == presented.count else {
            return HandshakeFailure.unknown("a certificate cannot be read").error
        }
        switch self.store.verify(certificates) {
        case .failure(let error): return error
        case .success(let chain):
            guard let leaf = chain.first else { return HandshakeFailure.unknown("there is no certificate").error }
            if chain.contains(where: \.hasWeakKey) { return TLSFailure.weakKey.rejection("a key is too short") }
            // Nobody relies on the signature of a root, which is trusted for being known.
            if chain.dropLast().contains(where: \.hasWeakSignature) {
                return TLSFailure.weakKey.rejection("the digest of a signature is too weak")
            }
            guard leaf.isFor(self.host, isAddress: self.isAddress) else {
                return leaf.mismatch(self.host, isAddress: self.isAddress).rejection("")
            }
            return self.policy.problem(withKeys: chain.map(\.pin))
        }
    }
}
#endif
