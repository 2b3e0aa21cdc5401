internal import Foundation

#if os(Linux)
/// A file system of a few megabytes in memory, which a test fills; only root can have one.
package final class SmallDisk: Sendable {
    package let folder: Folder

    package static let isAvailable: Bool = (try? SmallDisk(kilobytes: 64)) != nil

    package init(kilobytes: Int) throws {
        self.folder = try Folder()
        guard mount("tmpfs", self.folder.path, "tmpfs", 0, "size=\(kilobytes)k") == 0 else {
            throw POSIXError(.EPERM)
        }
    }

    deinit { umount2(self.folder.path, Int32(MNT_DETACH)) }

    /// Has nothing written any more, or again.
    package func setReadOnly(_ isReadOnly: Bool) throws {
        let flags = UInt(MS_REMOUNT) | (isReadOnly ? UInt(MS_RDONLY) : 0)
        guard mount("tmpfs", self.folder.path, "tmpfs", flags, nil) == 0 else { throw POSIXError(.EBUSY) }
    }
}
#endif
