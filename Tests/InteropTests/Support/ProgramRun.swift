internal import TestSupport
internal import Foundation

/// A program that was run to its end.
struct ProgramRun: Sendable {
    /// A program that is not there.
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    let status: Int32
    let output: String
    let errors: String

    /// Runs a script among the servers.
    init(python script: String, _ arguments: [String]) async throws {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let root = folder.deletingLastPathComponent().deletingLastPathComponent()
        let script = folder.appendingPathComponent("servers/\(script)").path
        try await self.init(root.appendingPathComponent(".venv/bin/python"), ["-u", script] + arguments)
    }

    /// Runs a program of the package, which was built into the folder that this bundle of tests was built into.
    init(product name: String, _ arguments: [String]) async throws {
        // On Linux the bundle is the running executable; elsewhere a helper has loaded it.
        let bundles = Bundle.allBundles.filter { $0.bundlePath.hasSuffix(".xctest") }.map(\.bundleURL)
        let running = [Bundle.main.executableURL, URL(fileURLWithPath: CommandLine.arguments[0])].compactMap(\.self)
        let candidates = (bundles + running).map { $0.deletingLastPathComponent().appendingPathComponent(name) }
        guard let program = candidates.first(where: { FileManager.default.isExecutableFile(atPath: $0.path) }) else {
            throw Missing(description: "no \(name) among \(candidates.map(\.path))")
        }
        try await self.init(program, arguments)
    }

    private init(_ program: URL, _ arguments: [String]) async throws {
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        // `Process` stays in memory, and its pipes with it.
        defer { for pipe in [output, errors] { try? pipe.fileHandleForReading.close() } }
        let exit = Journal<Int32>("the end of \(program.lastPathComponent)")
        process.terminationHandler = { exit.append($0.terminationStatus) }
        try process.run()
        do {
            // What it says is little enough for the pipes.
            self.status = try await exit.entries(within: .seconds(70)) { !$0.isEmpty }[0]
        } catch {
            kill(process.processIdentifier, SIGKILL)
            throw error
        }
        self.output = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        self.errors = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
    }
}
