#if NIO
private import CLinkspanRuntime

/// The descriptors that the process may still open.
enum SpareDescriptors {
    /// As many as one loop of SwiftNIO opens: epoll or kqueue, an event and a timer, and one more.
    private static let needed = 4

    /// Whether a loop of SwiftNIO can start; SwiftNIO ends the process when it cannot.
    static var areEnough: Bool {
        let opened = (0..<self.needed).map { _ in clinkspan_open("/dev/null") }
        for descriptor in opened where descriptor >= 0 { close(descriptor) }
        return opened.allSatisfy { $0 >= 0 }
    }
}
#endif
