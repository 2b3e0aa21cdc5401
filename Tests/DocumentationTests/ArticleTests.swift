internal import Foundation
internal import Testing

/// The articles show nothing that is not compiled.
@Suite("The articles")
struct ArticleTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    private static let sources = Self.folder.appending(path: "../../Sources").standardized

    @Test
    func `each Swift block of an article stands in an example that is compiled`() throws {
        let pages = try Self.files(in: ["Sources", "Plugins"]) {
            $0.path.contains(".docc/") && $0.pathExtension == "md"
        }
        #expect(pages.count > 30)
        let compiled = try Self.compiled()
        for page in pages {
            let blocks = Self.blocks(of: try String(contentsOf: page, encoding: .utf8))
            let first = blocks.first ?? "import"
            #expect(first.hasPrefix("import"), "\(page.lastPathComponent): the first example shows no imports")
            for block in blocks.map(Self.withoutImports) where !block.isEmpty {
                #expect(compiled.contains(Self.squeezed(block)), "\(page.lastPathComponent): \(block.prefix(80))")
            }
        }
    }

    @Test
    func `each Swift block of a doc comment stands in an example that is compiled`() throws {
        let compiled = try Self.compiled()
        var count = 0
        for file in try Self.files(in: ["Sources", "Plugins"], where: { $0.pathExtension == "swift" }) {
            let comments = try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
                let text = line.drop { $0 == " " }
                return text.hasPrefix("///") ? text.dropFirst(text.hasPrefix("/// ") ? 4 : 3) : nil
            }
            for block in Self.blocks(of: comments.joined(separator: "\n") + "\n") {
                count += 1
                #expect(compiled.contains(Self.squeezed(block)), "\(file.lastPathComponent): \(block.prefix(80))")
            }
        }
        #expect(count > 30)
    }

    @Test
    func `each ✓ of the comparison has a row that names tests there are`() throws {
        let text = try String(
            contentsOf: Self.sources.appending(path: "Linkspan/Documentation.docc/Comparison.md"), encoding: .utf8)
        var suite = ""
        var tests: Set<String> = []
        for file in try Self.files(in: ["Tests"], where: { $0.pathExtension == "swift" }) {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
                if line.contains("func `") {
                    tests.insert("`\(suite)`: \(line.split(separator: "`")[1])")
                } else if line.contains("Tests"),
                    let found = line.firstMatch(of: /\b(?:struct|class|enum|extension) (\w+Tests)\b/)
                {
                    suite = String(found.1)
                }
            }
        }
        let rows = text.split(separator: "\n").filter { $0.hasPrefix("| ") }
            .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
        let (comparing, proving) = (rows.filter { $0.count == 5 && $0[1] == "✓" }, rows.filter { $0.count == 3 })
        #expect(comparing.count > 20 && proving.count > 60)
        for row in comparing { #expect(proving.contains { $0.prefix(2) == row.prefix(2) }, "\(row)") }
        for row in proving where row[1] == "✓" && row[2] != "`make test`" {
            for proof in row[2].components(separatedBy: " · ") where !tests.contains(proof) {
                Issue.record("\(row[0]): there is no test \(proof)")
            }
        }
    }

    @Test
    func `each file and folder that the design pages name exists`() throws {
        let root = Self.sources.deletingLastPathComponent()
        let names = try Self.design().matches(of: /`((?:Sources|Plugins|Samples|Tests)\/[^`\n]+)`/).map { String($0.1) }
        #expect(names.count > 40)
        for name in names {
            #expect(FileManager.default.fileExists(atPath: root.appending(path: name).path), "\(name)")
        }
    }

    @Test
    func `each folder of more than ten files is in a table of the design pages`() throws {
        let files = try Self.files(in: ["Sources", "Plugins", "Samples"]) {
            !$0.hasDirectoryPath && !$0.path.contains(".docc/") && !$0.lastPathComponent.hasPrefix(".")
                && !$0.path.contains("__pycache__")
        }
        let root = Self.sources.deletingLastPathComponent().path
        let folders = Dictionary(grouping: files) { $0.deletingLastPathComponent().path }.filter { $0.value.count > 10 }
        #expect(folders.count > 10)
        let page = try Self.design()
        for folder in folders.keys {
            let name = folder.dropFirst(root.count).drop { $0 == "/" }
            #expect(page.contains("| `\(name)` | "), "\(name)")
        }
    }

    /// The text of the design pages: the map, the core and the network.
    private static func design() throws -> String {
        try ["Design", "DesignOfTheCore", "DesignOfTheNetwork"].map { name in
            try String(
                contentsOf: Self.sources.appending(path: "Linkspan/Documentation.docc/\(name).md"), encoding: .utf8)
        }.joined(separator: "\n")
    }

    /// The Swift blocks of a page; `.ci/readme` has the package manager read its manifests.
    private static func blocks(of text: String) -> [String] {
        text.components(separatedBy: "```swift\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
            .filter { !$0.hasPrefix("// swift-tools-version") }
    }

    private static func withoutImports(_ block: String) -> String {
        block.split(separator: "\n").drop { $0.hasPrefix("import ") }.joined(separator: "\n")
    }

    /// The code of all tests and samples.
    private static func compiled() throws -> String {
        try Self.files(in: ["Tests", "Samples"]) { $0.pathExtension == "swift" }
            .map { Self.squeezed(try String(contentsOf: $0, encoding: .utf8)) }.joined(separator: "\n")
    }

    private static func files(in folders: [String], where isWanted: (URL) -> Bool) throws -> [URL] {
        let root = Self.sources.deletingLastPathComponent()
        return try folders.flatMap { folder in
            let files = FileManager.default.enumerator(
                at: root.appending(path: folder), includingPropertiesForKeys: nil)
            return try #require(files).compactMap { $0 as? URL }.filter(isWanted)
        }
    }

    /// The lines without indentation and access, which an example needs and an article does not.
    private static func squeezed(_ text: String) -> String {
        text.split(separator: "\n").map { line in
            var line = line.trimmingCharacters(in: .whitespaces)[...]
            for access in ["private ", "fileprivate ", "internal "] where line.hasPrefix(access) {
                line = line.dropFirst(access.count)
            }
            return line.replacing("fileprivate static", with: "static")
        }
        .filter { !$0.isEmpty }.joined(separator: "\n")
    }
}
