internal import TestSupport
internal import Foundation
internal import Linkspan
internal import LinkspanRuntime
internal import Logging

/// Everything that the SDK says, by whatever way.
final class Evidence: Sendable {
    private let texts = Lock<[String]>([])

    /// All of it.
    var text: String { self.texts.withLock { $0.joined(separator: "\n") } }

    func add(_ text: String) { self.texts.withLock { $0.append(text) } }

    /// Adds all that can be read off a value.
    func add<Value>(describing value: Value) {
        var dumped = ""
        dump(value, to: &dumped)
        self.add("\(value)\n\(String(reflecting: value))\n\(dumped)")
    }

    /// Adds all that can be read off an error and what caused it.
    func add(_ error: LinkspanError) {
        self.add(describing: error)
        self.add(error.message)
        if let cause = error.cause { self.add(describing: cause) }
    }

    /// Adds what a connection says about itself.
    func add(_ client: Client) async {
        let diagnosis = client.handler.status
        self.add(diagnosis.description)
        self.add(client.handler.explain())
        self.add(describing: diagnosis)
        self.add(client.handler.status.url.description)
        for change in client.states.entries {
            self.add(describing: change)
            if let error = change.reason.error { self.add(error) }
        }
        for status in await client.handler.commands { self.add(describing: status) }
        for message in client.messages.entries { self.add("\(message)\n\(String(reflecting: message))") }
    }

    /// A logger of the lowest level whose lines are added.
    var logger: Logger {
        var logger = Logger(label: "canary") { _ in Handler(evidence: self) }
        logger.logLevel = .trace
        return logger
    }

    private struct Handler: LogHandler {
        let evidence: Evidence
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { self.metadata[key] }
            set { self.metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = self.metadata.merging(event.metadata ?? [:]) { $1 }
            self.evidence.add("log \(event.level) \(event.message) \(metadata)")
        }
    }
}

extension Evidence {
    /// Runs a body and adds what this process writes to standard error meanwhile, C libraries included.
    func addingStandardError(_ body: () async throws -> Void) async throws {
        let path = NSTemporaryDirectory() + "linkspan-stderr-" + UUID().uuidString
        let file = open(path, O_RDWR | O_CREAT, 0o600)
        let former = dup(STDERR_FILENO)
        fflush(nil)
        dup2(file, STDERR_FILENO)
        defer {
            fflush(nil)
            dup2(former, STDERR_FILENO)
            close(file)
            close(former)
            self.add((try? String(contentsOfFile: path, encoding: .utf8)) ?? "")
            try? FileManager.default.removeItem(atPath: path)
        }
        FileHandle.standardError.write(Data("standard error is watched\n".utf8))
        try await body()
    }
}
