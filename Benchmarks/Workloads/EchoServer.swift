import Foundation

/// The echo server as a child process.
///
/// It ends with this process, because its standard input does.
final class EchoServer {
    let port: Int
    private let process = Process()
    private let input = Pipe()

    init(path: String) throws {
        let output = Pipe()
        self.process.executableURL = URL(fileURLWithPath: path)
        self.process.arguments = ["--port", "0", "--until-eof"]
        self.process.standardInput = self.input
        self.process.standardOutput = output
        try self.process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        guard let port = Int(line.split(separator: " ").last?.trimmingCharacters(in: .newlines) ?? "") else {
            throw CocoaError(.fileReadCorruptFile)
        }
        self.port = port
    }

    /// CPU seconds the server has used, in steps of 10 ms.
    var cpu: Double {
        let path = "/proc/\(self.process.processIdentifier)/stat"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), let end = text.lastIndex(of: ")") else {
            return 0
        }
        let fields = text[end...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
        return (user + system) / 100
    }

    func stop() {
        self.process.terminate()
        self.process.waitUntilExit()
    }
}
