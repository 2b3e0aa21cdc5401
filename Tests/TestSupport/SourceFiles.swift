internal import Foundation

/// Files of the package, for tests that read them.
package enum SourceFiles {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The text of a file, whose path begins at the top of the package.
    package static func text(_ path: String) throws -> String {
        try String(contentsOf: Self.root.appending(path: path), encoding: .utf8)
    }

    /// The names of the files in a folder, in order.
    package static func names(_ folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: Self.root.appending(path: folder).path).sorted()
    }

    /// The modules that the programs in a folder import.
    package static func imports(_ folder: String) throws -> Set<String> {
        let lines = try Self.names(folder).flatMap { try Self.text("\(folder)/\($0)").split(separator: "\n") }
        return Set(lines.filter { $0.contains("import ") }.map(String.init))
    }
}
