/// Dotted keys, without the root inside the module.
enum ConfigurationPath {
    static let root = "linkspan"

    static func withoutRoot(_ path: String) -> String {
        path.hasPrefix("\(Self.root).") ? String(path.dropFirst(Self.root.count + 1)) : path
    }

    static func full(_ path: String) -> String { path.isEmpty ? Self.root : "\(Self.root).\(path)" }

    static func join(_ prefix: String, _ name: String) -> String { prefix.isEmpty ? name : "\(prefix).\(name)" }

    static func components(_ path: String) -> [String] {
        path.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    }
}
