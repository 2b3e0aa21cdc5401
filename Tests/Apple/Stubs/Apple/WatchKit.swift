// swift-format-ignore-file
// WatchKit, watchOS 7.
// Only on: watchos
@_exported import Foundation

@MainActor open class WKApplication: NSObject {
    public enum State: Int, Sendable { case active, inactive, background }
    @available(watchOS 7, *)
    public class func shared() -> WKApplication { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var didFinishLaunchingNotification: Notification.Name { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var didBecomeActiveNotification: Notification.Name { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var willResignActiveNotification: Notification.Name { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var willEnterForegroundNotification: Notification.Name { fatalError() }
    @available(watchOS 7, *)
    nonisolated public class var didEnterBackgroundNotification: Notification.Name { fatalError() }
}
public enum WKBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }
