#if OUTBOX
#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#elseif canImport(Android)
private import Android
#endif

/// The right to be the only outbox on a file, until the process ends however it ends.
///
/// On a file of its own: closing any descriptor of a database drops SQLite's locks on it.
struct FileLock: ~Copyable {
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
