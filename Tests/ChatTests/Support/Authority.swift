internal import Foundation
internal import TestedPrograms
internal import Testing

/// A certification authority that nobody knows, and a certificate of it for the loopback address.
struct Authority: Sendable {
    let root: String
    let certificate: String
    let key: String

    /// Makes the files in the folder of a test.
    init(on bench: Bench) async throws {
        let path = { (name: String) in "\(bench.folder)/\(name)" }
        let newKey = ["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        (self.root, self.certificate, self.key) = (path("root.pem"), path("server.pem"), path("server.key"))
        let request = path("server.csr")
        let names = try bench.file("names.ext", "subjectAltName=IP:127.0.0.1\n")
        let steps = [
            newKey + ["-x509", "-days", "2", "-subj", "/CN=Root", "-keyout", path("root.key"), "-out", self.root],
            newKey + ["-subj", "/CN=Server", "-keyout", self.key, "-out", request],
            ["x509", "-req", "-in", request, "-CA", self.root, "-CAkey", path("root.key"), "-CAcreateserial"]
                + ["-days", "2", "-extfile", names, "-out", self.certificate],
        ]
        for step in steps {
            let openssl = try await bench.start("openssl", ["/usr/bin/env", "openssl"] + step)
            let status = try await openssl.exit()
            let errors = await openssl.errors.lines
            try #require(status == 0, "\(errors)")
        }
    }
}
