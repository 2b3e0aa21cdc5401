internal import Linkspan
internal import LinkspanMessaging
internal import Testing

@testable internal import LinkspanInspector

@Suite
struct TextTests {
    @Test func `JSON is escaped, and numbers that JSON lacks are null`() throws {
        var json = JSONText()
        json.object { json in
            json.text("quote\"", "a\"b\\c\u{1}\u{7F}é\n")
            json.decimal("none", nil)
            json.decimal("not a number", .nan)
            json.decimal("half", 0.5)
            json.array("list", [1, 2]) { json, number in json.element(number) }
            json.flag("on", true)
        }
        let text = String(decoding: json.bytes, as: UTF8.self)
        #expect(
            text
                == #"{"quote\"":"a\"b\\c\u0001\u007fé\u000a","none":null,"not a number":null,"half":0.5,"list":[1,2],"on":true}"#
        )
        #expect(try Payload(checking: json.bytes[...])[0]?["half"] != nil)
    }

    @Test(arguments: [(Int64.max, "9007199254740992"), (.min, "-9007199254740992"), (2, "2000")])
    func `times far away are shown as the farthest that a page counts exactly`(seconds: Int64, shown: String) {
        let now = ContinuousClock.now
        var batch = InspectorBatch(now: now, epoch: now)
        var row = ConnectionRow(id: 1)
        row.credentials.expiry = now.advanced(by: .seconds(seconds))
        batch.connections = [row]
        var json = JSONText()
        json.object { batch.write(to: &$0, excerpts: false) }
        #expect(String(decoding: json.bytes, as: UTF8.self).contains("\"expiry\":\(shown)}"))
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
