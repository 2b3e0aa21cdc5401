internal import Linkspan
internal import LinkspanMessaging
internal import Testing

@testable internal import LinkspanInspector

@Suite
struct TextTests {
    @Test func `a row is one object with the members of its parts`() throws {
        var row = ConnectionRow(id: 7)
        row.report.transport = "a\"b"
        row.counts.sent = 3
        row.credentials.isRevoked = true
        let text = String(decoding: JSONText.of(row), as: UTF8.self)
        #expect(
            text == #"{"id":7,"holders":0,"transport":"a\"b","paused":false,"inFlight":0,"turn":0,"#
                + #""sent":3,"sentBytes":0,"received":0,"receivedBytes":0,"answered":0,"failed":0,"#
                + #""credentials":{"isRevoked":true}}"#)
    }

    @Test(
        arguments: [(Int64.max, 9_007_199_254_740_992), (.min, -9_007_199_254_740_992), (2, 2_000)] as [(Int64, Int64)])
    func `times far away are shown as the farthest that a page counts exactly`(seconds: Int64, shown: Int64) {
        #expect(Duration.seconds(seconds).wholeMilliseconds == shown)
    }

    @Test func `durations have two places at most`() {
        #expect(Duration.microseconds(1_234_567).milliseconds == 1_234.57)
    }

    @Test(arguments: [
        (#"{"token":"canary","text":"hello"}"#, #"{"token":"…","text":"hello"}"#),
        (#"{"user":{"Password" : {"a":["canary"]}},"x":1}"#, #"{"user":{"Password" :"…"},"x":1}"#),
        (#"{"accessToken":"cana"#, #"{"accessToken":"…""#),
        (#"{"api_key":123,"b":[true]}"#, #"{"api_key":"…","b":[true]}"#),
        (#"{"\u0074oken":"canary"}"#, #"{"\u0074oken":"…"}"#),
        (#""say","token""#, #""say","token""#),
        (#"["Bearer canary","basic Y2FuYXJ5","eyJhbGciOiJub25lIn0.canary"]"#, #"["…","…","…"]"#),
        (#"{"note":"eyJhbGciOiJub25lIn0.cana"#, #"{"note":"…""#),
        (#""Bearer","basics of it""#, #""Bearer","basics of it""#),
    ])
    func `values whose names sound like credentials are left out of excerpts`(excerpt: String, shown: String) {
        #expect(Redaction.excerpt(Array(excerpt.utf8), of: excerpt.utf8.count) == shown)
    }

    @Test(arguments: [
        "token", "secret", "password", "passwd", "passphrase", "authorization", "auth", "apikey", "api_key", "api-key",
        "cookie", "credential", "session", "bearer", "jwt", "private", "signature", "otp", "pin",
    ])
    func `the value of each name that sounds like credentials is left out, in any case and as a part`(word: String) {
        for name in [word, word.uppercased(), "my \(word)s"] {
            let excerpt = "{\"\(name)\":\"canary\"}"
            #expect(Redaction.excerpt(Array(excerpt.utf8), of: excerpt.utf8.count) == "{\"\(name)\":\"…\"}")
        }
    }

    @Test func `a quote with an escape ends no string`() {
        for text in [#"{"a":"x\",\"token\":\"y"}"#, #"{"a":"\\"}"#] {
            #expect(Redaction.excerpt(Array(text.utf8), of: text.utf8.count) == text)
        }
    }

    @Test func `an excerpt says that it is one`() {
        #expect(Redaction.excerpt(Array("[1,2".utf8), of: 100) == "[1,2…")
    }

    @Test(arguments: ["", "{}", "[]", "null", #"{"do":"drop"}"#, #"{"do":"drop","connection":-1}"#, #"{"do":7}"#])
    func `what is no command is not one`(text: String) {
        #expect(PageCommand(Array(text.utf8)[...]) == nil)
    }

    @Test func `commands are read`() {
        #expect(
            PageCommand(Array(#"{"do":"drop","connection":7}"#.utf8)[...]) == .provoke(7, .dropLink))
        #expect(PageCommand(Array(#"{"do":"select","connection":null}"#.utf8)[...]) == .select(nil))
        #expect(PageCommand(Array(#"{"do":"move","transport":"websocket"}"#.utf8)[...]) == .move("websocket"))
    }

    @Test func `the page is under 100 KB and loads nothing from elsewhere`() {
        let page = InspectorPage.document(key: "key", nonce: "nonce")
        #expect(page.utf8.count < 100_000)
        for word in ["src=", "@import", "https://", "innerHTML", "url("] { #expect(!page.contains(word), "\(word)") }
    }
}
