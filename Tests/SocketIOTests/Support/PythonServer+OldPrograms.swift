internal import Foundation
internal import TestSupport

extension PythonServer {
    /// Runs the server that the old programs talk to for as long as `body` does.
    static func useOldPrograms(
        _ arguments: [String] = [], _ body: (PythonServer) async throws -> Void
    ) async throws {
        let server = PythonServer("old_programs.py", arguments)
        try await server.use { try await body(server) }
    }

    /// Its URL, the same after a restart.
    var url: URL { self.url("http") }

    func url(_ scheme: String, path: String = "") -> URL {
        URL(string: "\(scheme)://127.0.0.1:\(self.port)\(path)") ?? URL(fileURLWithPath: "/")
    }
}
