#if os(Linux)
internal import Glibc
internal import Testing

/// A limit that leaves the process no further thread; for a test in a process of its own.
///
/// The limit does not hold for root, so that the process becomes another user.
package struct ThreadShortage {
    private var former = rlimit()

    package init() throws {
        getrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &self.former)
        var none = self.former
        none.rlim_cur = 1
        try #require(setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &none) == 0)
        if getuid() == 0 { try #require(setuid(65_534) == 0) }
    }

    /// Allows threads again.
    package func end() {
        var limit = self.former
        setrlimit(__rlimit_resource_t(__RLIMIT_NPROC.rawValue), &limit)
    }
}
#endif
