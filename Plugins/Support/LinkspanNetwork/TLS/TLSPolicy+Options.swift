internal import Linkspan

extension TLSPolicy {
    /// The options of a configuration that make a policy; the same for every transport.
    static let options: [PluginOption] = [
        PluginOption("ca", .text, fallback: "the system's", "A PEM file with the authorities to trust instead."),
        PluginOption("systemRoots", .flag, fallback: "false", "Whether to trust the system's authorities besides ca."),
        PluginOption(
            "pins", .list, fallback: "none", "Digests of keys (sha256/…), one of which the server's chain must have."),
        PluginOption(
            "revokedPins", .list, fallback: "none", "Digests of keys (sha256/…) that are never accepted."),
        PluginOption("certificate", .text, fallback: "none", "A PEM file with the client certificate."),
        PluginOption(
            "key", .text, fallback: "none", "A PEM file with the client certificate's key, without a password."),
        PluginOption("minimumTLS", .choice(["1.2", "1.3"]), fallback: "1.2", "The oldest TLS version to accept."),
    ]

    /// Makes a policy of a configuration's values.
    ///
    /// - Throws: ``LinkspanError`` with code `invalidConfiguration` for an invalid pin, a file that cannot be read, and a
    ///   certificate without its key or the reverse.
    init(_ values: OptionValues) throws(LinkspanError) {
        self.init()
        for option in ["ca", "certificate", "key"] {
            guard let path: String = values[option] else { continue }
            do throws(ByteStreamError) {
                try CertificateFile.check(path)
            } catch {
                throw LinkspanError(.invalidConfiguration, "\(option): \(error.message)")
            }
        }
        if let file: String = values["ca"] { self.roots = .file(file) }
        if let adds: Bool = values["systemRoots"] { self.addsSystemRoots = adds }
        self.pins = try Self.pins(values["pins"] ?? [])
        self.revokedPins = try Self.pins(values["revokedPins"] ?? [])
        switch (values["certificate"] as String?, values["key"] as String?) {
        case (let certificate?, let key?):
            self.clientCertificate = ClientCertificate(.file(certificate), key: .file(key))
        case (nil, nil): ()
        case (_?, nil): throw LinkspanError(.invalidConfiguration, "the certificate needs the option key")
        case (nil, _?): throw LinkspanError(.invalidConfiguration, "the key needs the option certificate")
        }
        if let version: Version = values["minimumTLS"] { self.minimumVersion = version }
    }

    private static func pins(_ texts: [String]) throws(LinkspanError) -> Set<PublicKeyPin> {
        Set(try texts.map { text throws(LinkspanError) in try PublicKeyPin(text) })
    }
}
