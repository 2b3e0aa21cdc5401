import Foundation

/// The configuration file that is read when no flag names one.
///
/// Where a system keeps such files is said by the XDG Base Directory Specification:
/// https://specifications.freedesktop.org/basedir-spec/latest/
struct UserFile {
    private static let folder = "linkspan-chat"
    private static let names = ["chat.yaml", "chat.yml", "chat.json"]

    private let environment: [String: String]

    init(environment: [String: String]) { self.environment = environment }

    /// The files that would be read, the first of them that is there.
    var candidates: [String] {
        self.folders.flatMap { folder in Self.names.map { "\(folder)/\(Self.folder)/\($0)" } }
    }

    /// The file, if there is one.
    var path: String? { self.candidates.first { FileManager.default.fileExists(atPath: $0) } }

    private var folders: [String] {
        let home = self.absolute("HOME").map { ["\($0)/.config"] } ?? []
        let own = self.absolute("XDG_CONFIG_HOME").map { [$0] } ?? home
        let shared = self.environment["XDG_CONFIG_DIRS"] ?? ""
        let system = (shared.isEmpty ? "/etc/xdg" : shared).split(separator: ":").map(String.init)
        return own + system.filter { $0.hasPrefix("/") }
    }

    /// A path in the environment; relative ones do not count.
    private func absolute(_ variable: String) -> String? {
        self.environment[variable].flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
