internal import Testing

@testable internal import Linkspan

@Suite
struct ConcealingTests {
    private static let secret = "s3cr\"et-of-ann"

    private static func credentials(_ configure: (inout Credentials) throws -> Void) rethrows -> Credentials {
        var credentials = Credentials()
        try configure(&credentials)
        return credentials
    }

    @Test func `every kind of credentials is left out of a server's text`() throws {
        let kinds = [
            try Credentials(auth: ["a": ["token": Self.secret]]), try Credentials(auth: Self.secret),
            Self.credentials { $0.headers = [.init("Authorization", Secret("Bearer \(Self.secret)"))] },
            Self.credentials { $0.query = [.init("key", Secret(Self.secret))] },
        ]
        for credentials in kinds {
            #expect(credentials.concealed(in: "no user \(Self.secret)!") == "no user <redacted>!")
        }
    }

    @Test func `tokens in the queries of both URLs are left out`() throws {
        let credentials = try Self.credentials { $0.url = try ConnectionURL("ws://a/?signature=0123456789") }
        #expect(
            credentials.concealed(in: "0123456789 and abcdefgh", query: "x=abcdefgh&y=1") == "<redacted> and <redacted>"
        )
    }

    @Test func `short values and names of members stay`() throws {
        let credentials = try Credentials(auth: ["credential": "ann"])
        #expect(credentials.concealed(in: "credential of ann") == "credential of ann")
    }

    @Test(arguments: ["…", ""])
    func `a secret is left out of a text that was cut inside it`(ellipsis: String) throws {
        let token = String(repeating: "secret", count: 60)
        let credentials = Self.credentials {
            $0.headers = [.init("A", Secret("Bearer \(token)")), .init("B", "secretsecret")]
        }
        for length in [8, 100, 185] {
            let text = "invalid token \(token.prefix(length))\(ellipsis)"
            #expect(credentials.concealed(in: text) == "invalid token <redacted>\(ellipsis)", "\(length)")
        }
        #expect(credentials.concealed(in: "a secret\(ellipsis) b") == "a secret\(ellipsis) b")
    }

    @Test func `of a value and a part of it the whole is left out`() throws {
        let credentials = Self.credentials {
            $0.headers = [.init("A", "part-of-it"), .init("B", "part-of-it-and-more")]
        }
        #expect(credentials.concealed(in: "<part-of-it-and-more>") == "<<redacted>>")
    }
}
