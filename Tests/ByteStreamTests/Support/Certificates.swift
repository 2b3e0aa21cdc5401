import Foundation
import LinkspanNetwork
import Testing

/// Certificates made for one test, in a folder that goes away with it.
final class Certificates: Sendable {
    let folder: String

    var authority: String { self.path("ca.pem") }

    /// Makes an authority and certificates of it: `good` for the loopback's name and addresses, `other` for another
    /// host, `expired`, and `stranger` of another authority.
    init() throws {
        self.folder = NSTemporaryDirectory() + "linkspan-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        try self.makeAuthority("ca")
        try self.makeAuthority("strange")
        let loopback = "DNS:localhost,IP:127.0.0.1,IP:::1"
        try self.makeServer("good", names: loopback, authority: "ca")
        try self.makeServer("other", names: "DNS:other.example,IP:10.0.0.1,IP:fd00::1", authority: "ca")
        try self.makeServer("expired", names: loopback, authority: "ca", isExpired: true)
        try self.makeServer("stranger", names: loopback, authority: "strange")
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    func path(_ name: String) -> String { "\(self.folder)/\(name)" }

    func bytes(_ name: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(fileURLWithPath: self.path(name))))
    }

    private func makeAuthority(_ name: String) throws {
        try self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=Test \(name)", "-keyout", self.path("\(name).key"), "-out", self.path("\(name).pem"),
        ])
    }

    private func makeServer(_ name: String, names: String, authority: String, isExpired: Bool = false) throws {
        let request = self.path("\(name).csr")
        try self.openssl([
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)",
            "-keyout", self.path("\(name).key"), "-out", request,
        ])
        let extensions = self.path("\(name).ext")
        try "subjectAltName=\(names)\n".write(toFile: extensions, atomically: true, encoding: .utf8)
        try self.openssl([
            "x509", "-req", "-in", request, "-CA", self.path("\(authority).pem"),
            "-CAkey", self.path("\(authority).key"), "-CAcreateserial", "-days", isExpired ? "-1" : "2",
            "-extfile", extensions, "-out", self.path("\(name).pem"),
        ])
    }

    func openssl(_ arguments: [String]) throws {
        let isMade = try ChildProcess(["openssl"] + arguments).hasSucceeded()
        try #require(isMade, "openssl \(arguments)")
    }
}
