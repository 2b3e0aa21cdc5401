internal import Foundation

/// A folder of a test, gone when the test is over.
package final class Folder: Sendable {
    package let path: String

    package init() throws {
        // In memory where that is possible: what a disk does is not tested here, and waiting for it takes long.
        let memory = "/dev/shm"
        let place =
            FileManager.default.isWritableFile(atPath: memory)
            ? URL(fileURLWithPath: memory) : FileManager.default.temporaryDirectory
        let folder = place.appendingPathComponent("outbox-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.path = folder.path
    }

    deinit { try? FileManager.default.removeItem(atPath: self.path) }

    /// Where the outbox is.
    package var outbox: String { "\(self.path)/outbox.sqlite" }

    /// The names of the files, in order.
    package var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: self.path)) ?? []).sorted() }

    package func mode(_ path: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int ?? -1
    }
}
