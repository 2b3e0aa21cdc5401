internal import Linkspan
internal import LinkspanLWS

extension TLSOptions {
    /// Says a policy in the terms of the stream below.
    init(_ policy: TLSPolicy) {
        let roots: TrustRoots =
            switch policy.roots {
            case .system: .system
            case .file(let path): .file(path)
            case .pem(let bytes): .pem(bytes)
            }
        self.init(
            trustRoots: roots, addsSystemRoots: policy.addsSystemRoots, pins: Self.digests(policy.pins),
            revokedPins: Self.digests(policy.revokedPins), identity: policy.clientCertificate.map(Identity.init),
            minimumVersion: policy.minimumVersion == .tls13 ? .tls13 : .tls12)
    }

    private static func digests(_ pins: Set<PublicKeyPin>) -> Set<KeyDigest> {
        Set(pins.compactMap { KeyDigest($0.digest) })
    }
}

extension TLSOptions.Identity {
    fileprivate init(_ own: ClientCertificate) {
        let key: Key =
            switch own.key {
            case .file(let path): .file(path)
            case .pem(let secret): .pem(HiddenText(secret.exposed))
            }
        switch own.certificate {
        case .file(let path): self = .file(path, key: key)
        case .pem(let bytes): self = .pem(bytes, key: key)
        }
    }
}
