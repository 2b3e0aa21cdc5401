public import Foundation
public import LinkspanNetwork

/// Rules for servers to be trusted in place of the authorities of the system; see ``SocketIOClientOption/security(_:)``.
public protocol CertificatePinning {
    /// The rules for verifying servers.
    var policy: TLSPolicy { get }
}

extension TLSPolicy: CertificatePinning {
    /// The policy itself.
    public var policy: TLSPolicy { self }
}

/// A certificate.
public struct SSLCert {
    let data: Data

    /// Takes a certificate in DER.
    public init(data: Data) { self.data = data }
}

/// Trusts certificates alone: authorities, or servers' own that are signed by themselves.
///
/// Name and validity are checked as always. To pin a key, use a `TLSPolicy` with `pins`.
open class SSLSecurity: NSObject, CertificatePinning {
    /// The rules for verifying servers.
    public let policy: TLSPolicy

    /// Trusts certificates; their keys under other certificates are not trusted.
    public init(certs: [SSLCert], usePublicKeys: Bool = true) {
        let texts = certs.map { cert in
            let text = cert.data.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            return "-----BEGIN CERTIFICATE-----\n\(text)\n-----END CERTIFICATE-----\n"
        }
        self.policy = TLSPolicy(roots: .pem(Array(texts.joined().utf8)))
    }
}
