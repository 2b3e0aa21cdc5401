#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#elseif canImport(Android)
private import Android
#endif

internal import LinkspanRuntime

/// The state of a file at one moment.
struct FileLook: Sendable, Hashable {
    /// The content, or the reason why there is none.
    enum Content: Sendable, Hashable {
        case text(FileText)
        case failure(String)
    }

    /// The identity of the file, and the time of its last change; nil if there was none.
    struct Identity: Sendable, Hashable {
        var device: UInt64
        var number: UInt64
        var size: Int64
        var seconds: Int64
        var nanoseconds: Int64
    }

    var identity: Identity?
    var content: Content

    /// Looks at a file.
    ///
    /// All of it is read, since two edits may fall into one tick of the file system's clock, and what is read small.
    static func at(_ path: String) -> Self {
        let content = Content(path)
        return Self(identity: Identity(path), content: content)
    }
}

extension FileLook.Content {
    init(_ path: String) {
        do {
            self = .text(try FileText(path: path))
        } catch {
            self = .failure(error.reason)
        }
    }
}

extension FileLook.Identity {
    fileprivate init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if canImport(Darwin)
        let time = status.st_mtimespec
        #else
        let time = status.st_mtim
        #endif
        self.init(
            device: UInt64(truncatingIfNeeded: status.st_dev), number: UInt64(status.st_ino),
            size: Int64(status.st_size), seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }
}
