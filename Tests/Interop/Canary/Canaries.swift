internal import Foundation
internal import Linkspan

/// Secrets of one run, which must turn up at servers and nowhere else.
struct Canaries: Sendable {
    private let run = UUID().uuidString.filter { $0 != "-" }

    var token: String { "canary-token-\(self.run)" }
    var header: String { "canary-header-\(self.run)" }
    var cookie: String { "canary-cookie-\(self.run)" }
    var query: String { "canary-query-\(self.run)" }
    var urlQuery: String { "canary-url-\(self.run)" }
    var payload: String { "canary-payload-\(self.run)" }

    /// All of them; a pin and a key are two more as soon as a policy takes them.
    var all: [String] { [self.token, self.header, self.cookie, self.query, self.urlQuery, self.payload] }

    func credentials(adding name: String? = nil, _ value: String = "") throws -> Credentials {
        var headers: [Credentials.Header] = [
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
