internal import Foundation

/// Where the programs are that the tests run.
enum Place {
    /// A program that is not there, and what to do about it.
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// The root of the package.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().path

    /// The chat, which was built into the folder that this bundle of tests was built into, or what `TEST_CHAT` says.
    static func chat() throws -> String {
        if let chosen = ProcessInfo.processInfo.environment["TEST_CHAT"] { return try self.executable(chosen) }
        // On Linux the bundle is the running executable; elsewhere a helper has loaded it.
        let bundles = Bundle.allBundles.filter { $0.bundlePath.hasSuffix(".xctest") }.map(\.bundleURL)
        let running = [Bundle.main.executableURL, URL(fileURLWithPath: CommandLine.arguments[0])].compactMap(\.self)
        let candidates = (bundles + running).map { $0.deletingLastPathComponent().appendingPathComponent("chat").path }
        let found = candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
        guard let found else {
            throw Missing(description: "no chat among \(candidates): run `swift build --product chat`")
        }
        return found
    }

    /// The Python that has the packages of the server.
    static func python() throws -> String {
        let venv = ProcessInfo.processInfo.environment["TEST_VENV"] ?? "\(self.root)/.venv"
        do {
            return try self.executable("\(venv)/bin/python")
        } catch {
            throw Missing(description: "\(error): run `make venv`, or name another folder in TEST_VENV")
        }
    }

    /// A loopback address that nobody else uses: there the port of a server that was killed stays free for the next.
    static func unsharedAddress() -> String {
        let numbers = (0..<3).map { _ in String(Int.random(in: 1...254)) }
        return "127.\(numbers.joined(separator: "."))"
    }

    private static func executable(_ path: String) throws -> String {
        guard FileManager.default.isExecutableFile(atPath: path) else {
            throw Missing(description: "there is no \(path)")
        }
        return path
    }
}
