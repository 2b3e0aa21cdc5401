internal import Foundation

/// Certificates made for one test, in a folder that goes away with it.
package final class Certificates: Sendable {
    /// What openssl would not do.
    package struct Failure: Error {
        package let arguments: [String]
    }

    private let folder: String

    /// The authority that the test's clients are to trust.
    package var authority: String { self.path("authority.pem") }

    /// Makes an authority, and certificates of it: `good` for the loopback, and `other` for another host.
    package init() async throws {
        self.folder = NSTemporaryDirectory() + "linkspan-" + UUID().uuidString
        try FileManager.default.createDirectory(atPath: self.folder, withIntermediateDirectories: true)
        try await self.openssl([
            "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=Test", "-keyout", self.path("authority.key"), "-out", self.authority,
        ])
        try await self.make("good", names: "DNS:localhost,IP:127.0.0.1")
        try await self.make("other", names: "DNS:other.example,IP:10.0.0.1")
    }

    deinit { try? FileManager.default.removeItem(atPath: self.folder) }

    /// The options that let a server script show a certificate.
    package func options(_ name: String) -> [String] {
        ["--ssl-cert", self.path("\(name).pem"), "--ssl-key", self.path("\(name).key")]
    }

    private func path(_ name: String) -> String { "\(self.folder)/\(name)" }

    private func make(_ name: String, names: String) async throws {
        let (request, extensions) = (self.path("\(name).csr"), self.path("\(name).ext"))
        try await self.openssl([
            "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=\(name)",
            "-keyout", self.path("\(name).key"), "-out", request,
        ])
        try "subjectAltName=\(names)\n".write(toFile: extensions, atomically: true, encoding: .utf8)
        try await self.openssl([
            "x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", self.path("authority.key"),
            "-CAcreateserial", "-days", "2", "-extfile", extensions, "-out", self.path("\(name).pem"),
        ])
    }

    private func openssl(_ arguments: [String]) async throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["openssl"] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let exit = Journal<Int32>("the end of openssl")
        process.terminationHandler = { exit.append($0.terminationStatus) }
        try process.run()
        guard try await exit.first(1) == [0] else { throw Failure(arguments: arguments) }
    }
}
