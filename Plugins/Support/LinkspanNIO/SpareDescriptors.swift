#if NIO
#if canImport(Darwin)
private import Darwin
#elseif canImport(Glibc)
private import Glibc
#elseif canImport(Musl)
private import Musl
#elseif canImport(Android)
private import Android
#endif

/// The descriptors that the process may still open.
enum SpareDescriptors {
    /// As many as one loop of SwiftNIO opens: epoll or kqueue, an event and a timer, and one more.
    private static let needed = 4

    /// Whether a loop of SwiftNIO can start; SwiftNIO ends the process when it cannot.
    static var areEnough: Bool {
        let opened = (0..<self.needed).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        for descriptor in opened where descriptor >= 0 { close(descriptor) }
        return opened.allSatisfy { $0 >= 0 }
    }
}
#endif
