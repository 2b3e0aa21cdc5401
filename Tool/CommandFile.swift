import Foundation
import Linkspan

/// A file that the command line names.
enum CommandFile {
    /// The most bytes that are read.
    private static let limit = 64 << 20

    /// Reads a text, also from a pipe of the shell, as of `<(…)`.
    static func text(of path: String) throws(LinkspanError) -> String {
        func problem(_ text: String) -> LinkspanError { LinkspanError(.invalidConfiguration, "\(path) \(text)") }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw problem("cannot be read: \(String(cString: strerror(errno)))") }
        let file = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
        guard !Self.isFolder(path) else { throw problem("cannot be read: it is a folder") }
        guard let data = try? file.read(upToCount: Self.limit + 1) ?? Data() else { throw problem("cannot be read") }
        guard data.count <= Self.limit else { throw problem("is larger than \(Self.limit >> 20) MiB") }
        guard let text = String(data: data, encoding: .utf8) else { throw problem("is not UTF-8") }
        return text
    }

    /// Refuses the path of a file that cannot be written, before there is something to write.
    ///
    /// - Parameters:
    ///   - path: the file.
    ///   - content: the noun for what it gets, as in `the report`.
    /// - Throws: `LinkspanError` with the reason.
    static func check(_ path: String, for content: String) throws(LinkspanError) {
        guard !Self.isFolder(path) else { throw Self.refusal(of: path, for: content, "it is a folder") }
        // A device or a pipe may be in a folder that cannot be written to.
        guard !FileManager.default.isWritableFile(atPath: path) else { return }
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard Self.isFolder(folder), FileManager.default.isWritableFile(atPath: folder) else {
            throw Self.refusal(of: path, for: content, "\(folder) is no folder that can be written to")
        }
    }

    /// Writes a text into a file, which may also be a device, a pipe or a link.
    static func write(_ text: String, to path: String, for content: String) throws(LinkspanError) {
        do {
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        } catch {
            throw Self.refusal(of: path, for: content, error.localizedDescription)
        }
    }

    private static func refusal(of path: String, for content: String, _ reason: String) -> LinkspanError {
        LinkspanError(.invalidConfiguration, "\(content) cannot be written to \(path): \(reason)")
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder.boolValue
    }
}
