#if OUTBOX
private import Foundation

/// The calls of an outbox to the file system beside its database.
enum FileSystem {
    /// The identity of the file at a path.
    struct Identity: Hashable {
        let device: UInt64
        let node: UInt64
    }

    /// The file at a path; nil when there is none.
    static func identity(_ path: String) -> Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(device: UInt64(truncatingIfNeeded: status.st_dev), node: UInt64(status.st_ino))
    }

    /// Makes sure that there is a regular file that only its owner reads, and that its folder knows of it.
    ///
    /// SQLite gives the mode of the database to the files that it makes beside it.
    static func create(_ path: String) throws(OutboxError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw SystemFailure.last("cannot open", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw SystemFailure.last("cannot read", path) }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw OutboxError(.notAnOutbox, "'\(path)' is not a regular file")
        }
        if status.st_mode & 0o077 != 0, fchmod(descriptor, 0o600) != 0 {
            throw SystemFailure.last("cannot restrict", path)
        }
        if status.st_size == 0 { try Self.synchronizeFolder(of: path) }
    }

    /// Makes a file readable from the first unlocking of the device on, and not only while it is unlocked: the app may
    /// be woken in between.
    static func protect(_ path: String) {
        #if os(iOS) || os(tvOS) || os(watchOS) || os(visionOS)
        try? FileManager.default.setAttributes(
            [.protectionKey: FileProtectionType.completeUntilFirstUserAuthentication], ofItemAtPath: path)
        #endif
    }

    /// Writes the folder of a file to the disk.
    static func synchronizeFolder(of path: String) throws(OutboxError) {
        let folder = Self.folder(of: path)
        let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemFailure.last("cannot open", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw SystemFailure.last("cannot synchronize", folder) }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Renames a file; nothing happens when there is none.
    static func move(_ path: String, to other: String) throws(OutboxError) {
        guard rename(path, other) == 0 || errno == ENOENT else { throw SystemFailure.last("cannot move", path) }
    }

    /// Deletes a file; nothing happens when there is none.
    static func remove(_ path: String) { unlink(path) }

    /// Makes sure that a file of zeros takes up its size on the disk; nothing is left behind when that fails.
    static func fill(_ path: String, size: Int) -> Bool {
        var status = stat()
        if stat(path, &status) == 0, Int(status.st_size) == size { return true }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: size)
        guard write(descriptor, zeros, size) == size, fsync(descriptor) == 0 else {
            unlink(path)
            return false
        }
        return true
    }
}

/// The right to be the only outbox on a file, until the process ends however it ends.
///
/// On a file of its own: closing any descriptor of a database drops SQLite's locks on it.
final class FileLock {
    private let descriptor: CInt

    /// Takes the lock at once.
    ///
    /// - Throws: `inUse` when another has it.
    init(path: String) throws(OutboxError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw SystemFailure.last("cannot open", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let isHeld = errno == EWOULDBLOCK
            let failure = SystemFailure.last("cannot lock", path)
            close(descriptor)
            throw isHeld ? OutboxError(.inUse, "'\(path)' is locked: another outbox has the file open") : failure
        }
        self.descriptor = descriptor
    }

    deinit { close(self.descriptor) }
}

/// Failures of system calls as errors of the outbox.
enum SystemFailure {
    /// The failure that `errno` names.
    static func last(_ action: String, _ path: String) -> OutboxError {
        let number = errno
        let code: OutboxError.Code =
            switch number {
            case ENOSPC, EDQUOT: .diskFull
            case EROFS: .readOnly
            case EACCES, EPERM, ENOENT, ENOTDIR, ELOOP, EISDIR: .notAccessible
            default: .inputOutput
            }
        let reason = strerror(number).map { String(cString: $0) } ?? "error \(number)"
        return OutboxError(code, "\(action) '\(path)': \(reason)")
    }
}
#endif
