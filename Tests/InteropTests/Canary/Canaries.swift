internal import Foundation
internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Logging
internal import TestSupport

/// Secrets of one run, which must turn up at servers and nowhere else.
struct Canaries: Sendable {
    private let run = UUID().uuidString.filter { $0 != "-" }

    var token: String { "canary-token-\(self.run)" }
    var header: String { "canary-header-\(self.run)" }
    var cookie: String { "canary-cookie-\(self.run)" }
    var query: String { "canary-query-\(self.run)" }
    var urlQuery: String { "canary-url-\(self.run)" }
    var payload: String { "canary-payload-\(self.run)" }
    /// What stands in a private key.
    var key: String { "canary-key-\(self.run)" }
    /// What a server sets as a cookie.
    var route: String { "canary-route-\(self.run)" }
    /// The secret part of what resumes a session.
    var session: String { "canary-resumption-\(self.run)" }
    /// The 32 bytes of a pin's digest; its base64 is searched for as that of all.
    var pin: String { String("canary-pin-\(self.run)".prefix(32)) }

    /// All of them.
    var all: [String] {
        [
            self.token, self.header, self.cookie, self.query, self.urlQuery, self.payload, self.key, self.route,
            self.session, self.pin,
        ]
    }

    /// A policy with one authority of its own, or none, and with a pin that no key matches.
    func policy(trusting authority: String? = nil) throws -> TLSPolicy {
        TLSPolicy(
            roots: authority.map { .file($0) } ?? .system,
            pins: [try PublicKeyPin("sha256/\(Data(self.pin.utf8).base64EncodedString())")])
    }

    /// The same, with an invalid private key.
    func policyWithKey() throws -> TLSPolicy {
        var policy = try self.policy()
        let key = Secret("-----BEGIN PRIVATE KEY-----\n\(self.key)\n-----END PRIVATE KEY-----\n")
        policy.clientCertificate = ClientCertificate(.pem(Array("-----BEGIN".utf8)), key: .pem(key))
        return policy
    }

    /// What another process is said to have left.
    func resumption() throws -> Secret {
        Secret(String(decoding: try Payload(self.session, "0").elements, as: UTF8.self))
    }

    func credentials(adding name: String? = nil, _ value: String = "") throws -> Credentials {
        var headers: [Credentials.Field] = [
            .init("Authorization", Secret("Bearer \(self.header)")), .init("Cookie", Secret("sid=\(self.cookie)")),
        ]
        if let name { headers.append(.init(name, Secret(value))) }
        return Credentials(
            auth: try Payload(["token": self.token]), headers: headers, query: [.init("key", Secret(self.query))])
    }

    /// Those that a text holds: as they are, as their bytes in decimal or in hexadecimal, or in base64.
    func found(in text: String) -> [String] {
        self.all.filter { canary in
            let bytes = Array(canary.utf8)
            let spellings = [
                canary, bytes.map(String.init).joined(separator: ", "),
                bytes.map { "- \($0)" }.joined(separator: "\n"),
                bytes.map { String($0, radix: 16) }.joined(), String(Data(bytes).base64EncodedString().prefix(30)),
            ]
            let flat = text.split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: "\n")
            return spellings.contains { text.contains($0) || flat.contains($0) }
        }
    }
}

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
