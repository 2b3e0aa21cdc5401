// swift-format-ignore-file
// AppKit, macOS 10.15.
// Only on: macos
@_exported import Foundation

@MainActor open class NSResponder: NSObject {}
@MainActor open class NSApplication: NSResponder {
    public class var shared: NSApplication { fatalError() }
    nonisolated public class var didBecomeActiveNotification: Notification.Name { fatalError() }
    nonisolated public class var willResignActiveNotification: Notification.Name { fatalError() }
    nonisolated public class var willTerminateNotification: Notification.Name { fatalError() }
}
