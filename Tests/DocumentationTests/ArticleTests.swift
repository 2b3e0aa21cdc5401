internal import Foundation
internal import Testing

/// The articles show nothing that is not compiled.
@Suite("The articles")
struct ArticleTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private static let sources = Self.folder.appending(path: "../../Sources").standardized

    @Test(
        arguments: [
            ("LinkspanTesting/Documentation.docc/WriteATransport.md", "WriteATransportExample.swift"),
            ("LinkspanLifecycle/Documentation.docc/WriteAService.md", "WriteAServiceExample.swift"),
            ("Linkspan/Documentation.docc/Listening.md", "ListeningExample.swift"),
            ("Linkspan/Documentation.docc/TenMinutes.md", "TenMinutesExample.swift"),
            ("Linkspan/Documentation.docc/Services.md", "ServicesExample.swift"),
        ])
    func `every block of code stands in the example`(article: String, example: String) throws {
        let text = try String(contentsOf: Self.sources.appending(path: article), encoding: .utf8)
        let compiled = Self.squeezed(
            try String(contentsOf: Self.folder.appending(path: example), encoding: .utf8))
        let blocks = text.components(separatedBy: "```swift\n").dropFirst().compactMap {
            $0.components(separatedBy: "\n```").first
        }
        #expect(!blocks.isEmpty)
        for block in blocks {
            #expect(compiled.contains(Self.squeezed(block)), "not in \(example): \(block.prefix(80))")
        }
    }

    /// The lines without their indentation, because a block in an article stands further left.
    private static func squeezed(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            .joined(separator: "\n")
    }
}
