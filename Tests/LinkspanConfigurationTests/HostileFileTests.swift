internal import Foundation
@testable internal import LinkspanConfiguration
internal import Testing

/// Whatever a file holds, the outcome is a plan or an error with text.
@Suite("Hostile files")
struct HostileFileTests {
    private static let contents: [String] = [
        String(repeating: "[", count: 100_000),
        "a: " + String(repeating: "{a: ", count: 60_000),
        "{" + String(repeating: "\"a\":{", count: 40_000),
        String(repeating: "- ", count: 100_000) + "a",
        String(repeating: "? ", count: 100_000) + "a",
        (0..<600).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\n"),
        (0..<600).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\r"),
        (0..<600).map { String(repeating: " ", count: $0) + "a:" }.joined(separator: "\u{2028}"),
        "a: \"" + String(repeating: "{", count: 60) + "\"\nb: " + String(repeating: "{a: \"}\", b: ", count: 5_000),
        "a: b\n \"c\nd: " + String(repeating: "{a: ", count: 5_000) + "\n\"",
        "a: it's\nb: " + String(repeating: "[ ']', ", count: 5_000),
        (0..<30).map { "a\($0): &a\($0) {x: *a\($0 - 1), y: *a\($0 - 1)}" }.joined(separator: "\n"),
        "\u{FEFF}linkspan: {}", "linkspan:\n\tx: 1", "\"", "'", "{", "}", "]", ":", "? ", "- ", "&", "*", "!", "|", ">",
        "%",
        "@", "`", "{\"a\"", "{\"a\":", "{a:}", "{:}", "a: |\n  x", "a: >", "a: \"\\", "linkspan: [", "linkspan: 'x",
        "{a: b: c}",
        "linkspan: *x", "linkspan: !!binary x", "<<: {a: 1}", "1: 2", "? [a]\n: b", "a: 1\n---\nb: 2",
        "linkspan: { transport: { adapter: [memory] } }", "linkspan: { transport: [ { a: 1 } ] }",
    ]

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(
        arguments: contents.indices,
        ["chat.yaml", "chat.json"])
    func `any text ends in a plan or an error of one line a problem`(index: Int, name: String) throws {
        let message = try #require(try failure(Self.contents[index], as: name))
        #expect(message.contains("nothing was started"))
        #expect(message.utf8.count < 2_000)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: ["chat.yaml", "chat.json"])
    func `bytes that are no text are refused`(name: String) throws {
        var generator = SystemRandomNumberGenerator()
        let random = Data((0..<4_096).map { _ in UInt8.random(in: 0...255, using: &generator) })
        for data in [random, Data([0x00]), Data([0xFF, 0xFE, 0x61, 0x00]), Data([0xC3])] {
            try withDirectory { files in
                let path = try files.write(name, data)
                let error = #expect(throws: ConfigurationError.self) {
                    try ConfigurationLoader(catalog: .sample()).load(file: path, environment: [:])
                }
                #expect(error?.problems.map { $0.code } == [.unreadableFile], "\(Array(data.prefix(64)))")
            }
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `texts cut off are errors or plans`() throws {
        let text = """
            linkspan:
              transport: { adapter: "memory", memory: {url: 'memory://a'} } # text's end
              services:
                enabled: [ logging, "presence" ]
            """
        for count in stride(from: 0, through: text.utf8.count, by: 3) {
            for name in ["chat.yaml", "chat.json"] {
                _ = try failure(String(decoding: text.utf8.prefix(count), as: UTF8.self), as: name)
            }
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a large file is refused without reading all of it`() throws {
        #expect(
            try failure(String(repeating: "# comment\n", count: 30_000))
                == "1 problem in configuration, nothing was started: chat.yaml  cannot be read: it is larger than 256 KiB"
        )
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: [(64, true), (65, false)])
    func `brackets may nest as deep as the limit, and no deeper`(depth: Int, isFine: Bool) throws {
        let file = "other: " + String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let given = ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"]
        let message = try failure(file, environment: given)
        #expect(message == nil ? isFine : !isFine && message?.contains("it is nested too deeply") == true)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `brackets in quoted texts and long flat files are no nesting`() throws {
        let entries = (0..<2_000).map { "  key\($0): { list: [\"[[[\", '{{{'], text: \"}\" } # it's fine" }
        let file = "other:\n" + entries.joined(separator: "\n")
        let given = ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"]
        #expect(try failure(file, environment: given) == nil)
        let json =
            "{ \"other\": {\n" + (0..<2_000).map { "\"k\($0)\": [\"[\", \"it's\"]" }.joined(separator: ",\n") + "\n} }"
        #expect(try failure(json, as: "chat.json", environment: given) == nil)
        #expect(try failure(json, as: "chat.yaml", environment: given) == nil)
    }

    private func isRefused(_ text: String) -> Bool { NestingLimit.violation(in: Array(text.utf8)) != nil }

    @Test(arguments: [
        ("\u{2028}", true), ("\u{2029}", true), ("\u{85}", true), ("\u{2027}", false), ("\u{20AC}", false),
    ])
    func `a text with a line end that only YAML sees is refused`(character: String, isRefused: Bool) {
        #expect(self.isRefused("a: b\(character)c") == isRefused)
        #expect(self.isRefused("a: \u{E9}\(character)") == isRefused)
    }

    @Test
    func `what seems to be quoted over two lines hides no brackets, and a cut character is none`() {
        let deep = String(repeating: "[", count: NestingLimit.brackets + 1)
        #expect(!self.isRefused("a: '\(deep)'"))
        #expect(self.isRefused("a: b\n  'c\n\(deep)'"))
        #expect(NestingLimit.violation(in: [0x61, 0xE2, 0x80]) == nil)
    }

    @Test
    func `a backslash hides the end of a text between quotation marks, and not of one between apostrophes`() {
        let deep = String(repeating: "[", count: NestingLimit.depth + 1)
        #expect(!self.isRefused(#"a: "\"\#(deep)""#))
        #expect(self.isRefused(#"a: ['\', \#(deep)"#))
    }

    @Test(arguments: [(10, false), (11, true)])
    func `a text may have ten aliases`(count: Int, isRefused: Bool) {
        #expect(self.isRefused("a: [" + String(repeating: "*b, ", count: count) + "c]") == isRefused)
        #expect(self.isRefused("a: 2**3*4\nb: [" + String(repeating: "*b,", count: count) + "c]") == isRefused)
    }

    @Test(arguments: ["\n", "\r"], [(100, false), (101, true)])
    func `a line may be indented by a hundred columns`(end: String, column: (Int, Bool)) {
        #expect(self.isRefused("a:\(end)" + String(repeating: " ", count: column.0) + "b\(end)c: d") == column.1)
        let flat = String(repeating: "a: b\(end)", count: 100)
        #expect(!self.isRefused(flat))
    }

    @Test(arguments: [(64, false), (65, true)])
    func `brackets that close nothing make no room and take none`(depth: Int, isRefused: Bool) {
        #expect(self.isRefused("a: ]]}" + String(repeating: "[", count: depth)) == isRefused)
    }

    @Test
    func `where a mark may be an apostrophe, brackets behind it count`() {
        let many = String(repeating: "[", count: 201)
        #expect(self.isRefused("a: it's \(many)"))
        #expect(self.isRefused("a: it 's \(many)"))
        #expect(!self.isRefused("a: it's " + String(repeating: "[", count: 200)))
        // At the beginning of a line, or behind a colon, it begins a quoted text.
        #expect(!self.isRefused("a: b\n\"\(many)\": c"))
        #expect(!self.isRefused("a: '\(many)'\nb: c"))
    }

    @Test(arguments: [
        ("#%", false), ("a:\n#%", false), ("a:\r#%", false), ("a: b #%", false), ("a: b\t#%", false), ("a: b#%", true),
        ("# a\n%", true), ("# a\r%", true), ("a: \"\\n\"\nb: %", true),
    ])
    func `brackets of a comment do not count, and those behind it or behind an escape do`(
        text: String, isRefused: Bool
    ) {
        #expect(self.isRefused(text.replacing("%", with: String(repeating: "[", count: 65))) == isRefused)
    }

    @Test(arguments: [
        ("- '%'\n- \"%\"", false), ("-'%'", true), ("a: b- '%'", true), ("{\"a\":\"%\"}", false), ("a:'%'", true),
        ("['a''%']", false), ("['a' '%']", true), ("['a'\"%\"]", true), ("[a\n'%']", true),
    ])
    func `brackets do not count where a mark certainly begins a quoted text`(text: String, isRefused: Bool) {
        #expect(self.isRefused(text.replacing("%", with: String(repeating: "[", count: 201))) == isRefused)
    }
}
