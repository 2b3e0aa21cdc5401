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

    /// The bytes of the file at a path; 0 when there is none.
    static func size(_ path: String) -> Int {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : 0
    }

    /// Whether SQLite would begin a new database at a path: there is no file, or one of at most one byte.
    static func isEmpty(_ path: String) -> Bool { Self.size(path) <= 1 }

    /// Throws unless there is a regular file with one name, or none.
    ///
    /// - Parameters:
    ///   - path: the path.
    ///   - code: the kind of error for a folder, a pipe or a device.
    /// - Throws: that, or `notAccessible` for a link.
    static func checkKind(of path: String, or code: OutboxError.Code) throws(OutboxError) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return }
        switch status.st_mode & S_IFMT {
        case S_IFREG where status.st_nlink > 1:
            throw OutboxError(
                .notAccessible, "'\(path)' has \(status.st_nlink) names, and may have one: remove the links")
        case S_IFREG: ()
        case S_IFLNK: throw OutboxError(.notAccessible, "'\(path)' is a link: give the path of the file")
        default: throw OutboxError(code, "'\(path)' is not a regular file")
        }
    }

    /// Makes sure that there is a file that only its owner reads, and that its folder knows of it.
    ///
    /// SQLite gives the mode of the database to the files that it makes beside it.
    ///
    /// - Returns: whether an empty file was there.
    static func create(_ path: String) throws(OutboxError) -> Bool {
        let wasEmpty = Self.identity(path) != nil && Self.isEmpty(path)
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { throw FileSystem.failure("cannot open", path) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw FileSystem.failure("cannot read", path) }
        if status.st_mode & 0o077 != 0, fchmod(descriptor, 0o600) != 0 {
            throw FileSystem.failure("cannot restrict", path)
        }
        if status.st_size == 0 { try Self.synchronizeFolder(of: path) }
        return wasEmpty
    }

    /// The first bytes of a file; nil when there are none.
    static func start(of path: String, size: Int) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: size)
        let count = read(descriptor, &bytes, size)
        return count > 0 ? Array(bytes.prefix(count)) : nil
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
        guard descriptor >= 0 else { throw FileSystem.failure("cannot open", folder) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw FileSystem.failure("cannot synchronize", folder) }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    /// Renames a file; nothing happens when there is none.
    static func move(_ path: String, to other: String) throws(OutboxError) {
        guard rename(path, other) == 0 || errno == ENOENT else { throw FileSystem.failure("cannot move", path) }
    }

    /// Copies a file.
    ///
    /// - Returns: whether there was one, and room.
    static func copy(_ path: String, to other: String) -> Bool {
        (try? FileManager.default.copyItem(atPath: path, toPath: other)) != nil
    }

    /// Deletes a file.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    static func remove(_ path: String) -> Bool { unlink(path) == 0 }

    /// Makes sure that a file of zeros takes up its size on the disk; nothing is left behind when that fails.
    static func fill(_ path: String, size: Int) -> Bool {
        if Self.size(path) == size { return true }
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: size)
        guard write(descriptor, zeros, size) == size, fsync(descriptor) == 0 else {
            unlink(path)
            return false
        }
        return true
    }

    /// The failure that `errno` names.
    static func failure(_ action: String, _ path: String) -> OutboxError {
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

/// The right to be the only outbox on a file, until the process ends however it ends.
///
/// There are two. One is on a file of its own, because closing any descriptor of a database drops SQLite's locks on it; that
/// file also has a mark, and the number of the latest delivery. The other is on the database, for processes that find
/// the first file deleted.
final class FileLock {
    /// "LKOBLOCK" in the order of this machine's bytes.
    private static let mark: UInt64 = 0x4C4B_4F42_4C4F_434B
    /// A byte of databases that SQLite neither locks nor reaches.
    private static let position: Int64 = 1 << 46
    // F_OFD_SETLK, which glibc's module lacks: a lock of the descriptor, which closing another one does not drop.
    #if canImport(Darwin)
    private static let setLock: CInt = 90
    #else
    private static let setLock: CInt = 37
    #endif

    private let descriptor: CInt
    /// Whether an earlier process has left the file.
    let wasThere: Bool

    /// Takes the lock on a file of its own at once.
    ///
    /// - Throws: `inUse` when another has it.
    init(path: String) throws(OutboxError) {
        self.wasThere = FileSystem.identity(path) != nil
        self.descriptor = try Self.take(path, O_CREAT) { flock($0, LOCK_EX | LOCK_NB) }
    }

    /// Takes the lock on a database at once; its outbox has the other one.
    ///
    /// - Throws: `inUse` when another has it.
    init(database path: String) throws(OutboxError) {
        var range = flock()
        range.l_type = Int16(F_WRLCK)
        range.l_whence = Int16(SEEK_SET)
        range.l_start = numericCast(Self.position)
        range.l_len = 1
        self.wasThere = true
        self.descriptor = try Self.take(path, 0) { fcntl($0, Self.setLock, &range) }
    }

    private static func take(
        _ path: String, _ flags: CInt, _ lock: (CInt) -> CInt
    ) throws(OutboxError) -> CInt {
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0o600)
        guard descriptor >= 0 else { throw FileSystem.failure("cannot open", path) }
        guard lock(descriptor) == 0 else {
            let isHeld = errno == EWOULDBLOCK || errno == EACCES
            let failure = FileSystem.failure("cannot lock", path)
            close(descriptor)
            throw isHeld ? OutboxError(.inUse, "'\(path)' is locked: another outbox has the file open") : failure
        }
        return descriptor
    }

    deinit { close(self.descriptor) }

    /// Whether an outbox has had the lock at a path.
    static func isMarked(_ path: String) -> Bool {
        FileSystem.start(of: path, size: 8).map { $0 == withUnsafeBytes(of: self.mark, Array.init) } ?? false
    }

    /// Marks a new file, and has the disk keep that.
    func mark() {
        guard self.accepted == nil else { return }
        self.accepted = 0
        fsync(self.descriptor)
    }

    /// The number of the latest delivery that was accepted, as far as is known; nil when no outbox has had the lock.
    ///
    /// It is written after each commit, and so is never ahead of a log that is whole.
    var accepted: UInt64? {
        get {
            var record = [UInt64](repeating: 0, count: 3)
            guard pread(self.descriptor, &record, 24, 0) == 24, record[0] == Self.mark, record[2] == ~record[1] else {
                return nil
            }
            return record[1]
        }
        set {
            let record = [Self.mark, newValue ?? 0, ~(newValue ?? 0)]
            pwrite(self.descriptor, record, 24, 0)
        }
    }
}
#endif
