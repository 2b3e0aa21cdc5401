internal import Foundation
internal import Linkspan
internal import LinkspanNetwork

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
