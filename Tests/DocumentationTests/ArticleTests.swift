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
            ("LinkspanMessaging/Documentation.docc/WriteAService.md", "WriteAServiceExample.swift"),
            ("Linkspan/Documentation.docc/Listening.md", "ListeningExample.swift"),
            ("Linkspan/Documentation.docc/TenMinutes.md", "TenMinutesExample.swift"),
            ("Linkspan/Documentation.docc/Migration.md", "MigrationExample.swift"),
            ("LinkspanTesting/Documentation.docc/LinkspanTesting.md", "FakeConnectionExample.swift"),
            ("LinkspanMessaging/Documentation.docc/Services.md", "ServicesExample.swift"),
            ("Linkspan/Documentation.docc/Errors.md", "GuidesExample.swift"),
            ("Linkspan/Documentation.docc/ComingFromSocketIOClientSwift.md", "GuidesExample.swift"),
            ("Linkspan/Documentation.docc/ComingFromJavaScript.md", "GuidesExample.swift"),
            ("Linkspan/Documentation.docc/ComingFromStarscream.md", "GuidesExample.swift"),
            ("Linkspan/Documentation.docc/Threads.md", "GuidesExample.swift"),
            ("Linkspan/Documentation.docc/Security.md", "GuidesExample.swift"),
            ("Linkspan/Documentation.docc/Troubleshooting.md", "GuidesExample.swift"),
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

    @Test
    func `the comparison names tests that there are`() throws {
        let text = try String(
            contentsOf: Self.sources.appending(path: "Linkspan/Documentation.docc/Comparison.md"), encoding: .utf8)
        let tests = Self.folder.deletingLastPathComponent()
        let files =
            FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil)?
            .compactMap { ($0 as? URL)?.deletingPathExtension().lastPathComponent } ?? []
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") && $0.contains("| ✓ |") }
        #expect(rows.count > 20)
        for row in rows {
            let proofs = row.split(separator: "|").dropLast(0).last.map(String.init) ?? ""
            let names = proofs.split { !$0.isLetter }.map(String.init).filter { $0.hasSuffix("Tests") }
            let isOurs = row.split(separator: "|").dropFirst().first?.contains("✓") == true
            #expect(!isOurs || !names.isEmpty || proofs.contains("make test"), "\(row)")
            for name in names { #expect(files.contains(name), "there is no \(name)") }
        }
    }

    /// The lines without their indentation, because a block in an article stands further left.
    private static func squeezed(_ text: String) -> String {
        text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
            .joined(separator: "\n")
    }
}
