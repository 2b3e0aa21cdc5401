import Foundation

/// The echo server: a child process, which ends with this one because its standard input does, or one that runs already.
final class EchoServer: Sendable {
    let port: Int
    /// The port for TLS; 0 when the server runs elsewhere.
    let securePort: Int
    /// The file with the certificate that it shows there, which is of its own making.
    let certificate = NSTemporaryDirectory() + "linkspan-echo-\(ProcessInfo.processInfo.processIdentifier).pem"
    private let process = Process()
    private let input = Pipe()

    /// Starts the server, or talks to one that runs.
    ///
    /// - Parameters:
    ///   - path: the program, or the port of a server that runs, for tools that bear no child process.
    ///   - port: where it listens; 0 for a free port.
    /// - Throws: an error of Foundation's when the program does not start.
    init(path: String, port: Int = 0) throws {
        if let port = Int(path) {
            self.port = port
            self.securePort = 0
            return
        }
        let output = Pipe()
        self.process.executableURL = URL(fileURLWithPath: path)
        self.process.arguments = ["--port", "\(port)", "--certificate", self.certificate, "--until-eof"]
        self.process.standardInput = self.input
        self.process.standardOutput = output
        try self.process.run()
        let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let ports = line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
        guard ports.count == 2 else { throw CocoaError(.fileReadCorruptFile) }
        (self.port, self.securePort) = (ports[0], ports[1])
    }

    /// CPU seconds the server has used, in steps of 10 ms.
    var cpu: Double {
        guard self.process.isRunning else { return 0 }
        let path = "/proc/\(self.process.processIdentifier)/stat"
        guard let text = try? String(contentsOfFile: path, encoding: .utf8), let end = text.lastIndex(of: ")") else {
            return 0
        }
        let fields = text[end...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else { return 0 }
        return (user + system) / 100
    }

    func stop() {
        guard self.process.isRunning else { return }
        self.process.terminate()
        self.process.waitUntilExit()
        try? FileManager.default.removeItem(atPath: self.certificate)
    }
}
