import Foundation
import LinkspanNetwork
import Testing

extension Certificates {
    private static let loopback = "subjectAltName=DNS:localhost,IP:127.0.0.1"

    /// Makes a certificate of `authority`, or of itself, in a file with the rest of the `chain` that a server shows.
    func make(
        _ name: String, authority: String? = "ca", key: [String] = Certificates.curve, extensions: String? = nil,
        chain: [String] = []
    ) throws {
        let request = self.path("\(name).csr")
        let subject = "/CN=\(name)"
        try self.openssl(
            ["req", "-newkey"] + key + [
                "-nodes", "-subj", subject, "-keyout", self.path("\(name).key"), "-out", request,
            ])
        let file = self.path("\(name).ext")
        try "\(extensions ?? Self.loopback)\n".write(toFile: file, atomically: true, encoding: .utf8)
        let signer =
            authority.map { ["-CA", self.path("\($0).pem"), "-CAkey", self.path("\($0).key"), "-CAcreateserial"] }
            ?? ["-signkey", self.path("\(name).key")]
        try self.openssl(
            ["x509", "-req", "-in", request, "-days", "2", "-extfile", file, "-out", self.path("\(name).pem")] + signer)
        try self.append(chain, to: name)
    }

    static let curve = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]

    /// Makes a certificate that will be valid in some years.
    func makeEarly(_ name: String) throws {
        try self.make(name)
        let settings = """
            [ca]
            default_ca = own
            [own]
            new_certs_dir = \(self.folder)
            database = \(self.path("index.txt"))
            serial = \(self.path("ca.srl"))
            default_md = sha256
            policy = any
            [any]
            commonName = supplied

            """
        try "".write(toFile: self.path("index.txt"), atomically: true, encoding: .utf8)
        try settings.write(toFile: self.path("ca.cnf"), atomically: true, encoding: .utf8)
        try self.openssl([
            "ca", "-batch", "-notext", "-config", self.path("ca.cnf"), "-cert", self.authority, "-keyfile",
            self.path("ca.key"), "-startdate", "20500101000000Z", "-enddate", "20510101000000Z", "-extfile",
            self.path("\(name).ext"), "-in", self.path("\(name).csr"), "-out", self.path("\(name).pem"),
        ])
    }

    /// Makes an authority below another one.
    func makeIntermediate(_ name: String, authority: String) throws {
        try self.make(
            name, authority: authority,
            extensions: "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign")
    }

    /// The pin of a certificate's key, computed by openssl.
    func pin(_ name: String) throws -> String {
        let parts = [
            "openssl x509 -in '\(self.path("\(name).pem"))' -pubkey -noout", "openssl pkey -pubin -outform der",
            "openssl dgst -sha256 -binary", "openssl base64",
        ]
        let process = try ChildProcess(["sh", "-c", parts.joined(separator: " | ")])
        let line = process.line()
        try #require(process.hasSucceeded())
        return line
    }

    func digest(_ name: String) throws -> PublicKeyPin {
        let data = try #require(Data(base64Encoded: try self.pin(name)))
        return try #require(PublicKeyPin(digest: [UInt8](data)))
    }

    private func append(_ others: [String], to name: String) throws {
        var bytes = try self.bytes("\(name).pem")
        for other in others { bytes += try self.bytes("\(other).pem") }
        try Data(bytes).write(to: URL(fileURLWithPath: self.path("\(name).pem")))
    }
}
