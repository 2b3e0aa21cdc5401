// swift-format-ignore-file
// UIKit, iOS and tvOS 13, visionOS 1.
// Only on: ios tvos visionos
@_exported import Foundation

public struct UIBackgroundTaskIdentifier: Hashable, RawRepresentable, Sendable {
    public var rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
    public static let invalid = UIBackgroundTaskIdentifier(rawValue: 0)
}
@MainActor open class UIResponder: NSObject {}
@MainActor open class UIApplication: UIResponder {
    public enum State: Int, Sendable { case active, inactive, background }
    public class var shared: UIApplication { fatalError() }
    open var applicationState: State { .active }
    open var backgroundTimeRemaining: TimeInterval { 0 }
    open func beginBackgroundTask(
        withName name: String?, expirationHandler: (@MainActor @Sendable () -> Void)? = nil
    ) -> UIBackgroundTaskIdentifier { .invalid }
    open func endBackgroundTask(_ identifier: UIBackgroundTaskIdentifier) {}
    open func registerForRemoteNotifications() {}
    public class var willEnterForegroundNotification: Notification.Name { fatalError() }
    public class var didBecomeActiveNotification: Notification.Name { fatalError() }
    public class var willResignActiveNotification: Notification.Name { fatalError() }
    public class var didEnterBackgroundNotification: Notification.Name { fatalError() }
    public class var willTerminateNotification: Notification.Name { fatalError() }
}
public enum UIBackgroundFetchResult: UInt, Sendable { case newData, noData, failed }
