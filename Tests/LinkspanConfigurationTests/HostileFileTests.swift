internal import Foundation
internal import LinkspanConfiguration
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
}
