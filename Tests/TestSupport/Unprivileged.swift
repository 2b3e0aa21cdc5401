#if os(Linux)
internal import Glibc

/// A user without privileges, for tests of permissions that run as root.
package enum Unprivileged {
    private static let user: uid_t = 65_534

    /// Has the thread use files as the user while `body` runs; nothing changes for one who is no root.
    ///
    /// The kernel keeps the user of file operations for each thread, so tests beside this one notice nothing.
    package static func run<Result>(owning folder: Folder, _ body: () throws -> Result) throws -> Result {
        guard geteuid() == 0 else { return try body() }
        guard chown(folder.path, self.user, self.user) == 0, let symbol = dlsym(nil, "setfsuid") else {
            throw Failure()
        }
        let change = unsafeBitCast(symbol, to: (@convention(c) (uid_t) -> Int32).self)
        _ = change(self.user)
        defer { _ = change(0) }
        return try body()
    }

    package struct Failure: Error {}
}
#endif
