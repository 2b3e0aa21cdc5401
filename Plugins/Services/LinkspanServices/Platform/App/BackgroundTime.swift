#if canImport(UIKit) && !os(watchOS)
private import UIKit
#elseif os(watchOS)
private import Dispatch
private import Foundation
#endif

/// Asks the system not to suspend the app yet, with what to call when the time is over before it was given back.
///
/// It answers with what gives the time back; nil when there is none to be had.
typealias BackgroundTime =
    @Sendable (_ onExpiry: @escaping @Sendable () -> Void) async -> (@Sendable () async -> Void)?

#if canImport(UIKit) && !os(watchOS)
/// A background task of the application: about 30 s in which it is not suspended.
@available(iOSApplicationExtension, unavailable)
@available(tvOSApplicationExtension, unavailable)
@available(visionOSApplicationExtension, unavailable)
enum SystemBackgroundTime {
    @Sendable static func begin(_ onExpiry: @escaping @Sendable () -> Void) async -> (@Sendable () async -> Void)? {
        let task = await MainActor.run { Self.beginTask(onExpiry) }
        guard task != .invalid else { return nil }
        return { await MainActor.run { UIApplication.shared.endBackgroundTask(task) } }
    }

    @MainActor private static func beginTask(_ onExpiry: @escaping @Sendable () -> Void) -> UIBackgroundTaskIdentifier {
        UIApplication.shared.beginBackgroundTask(withName: "linkspan.drain") { onExpiry() }
    }
}
#elseif os(watchOS)
/// An expiring activity, during which the app is not suspended.
enum SystemBackgroundTime {
    @Sendable static func begin(_ onExpiry: @escaping @Sendable () -> Void) async -> (@Sendable () async -> Void)? {
        let end = DispatchSemaphore(value: 0)
        // The system calls on a thread of its own, for as long as the activity lasts; again when it has to end.
        ProcessInfo.processInfo.performExpiringActivity(withReason: "linkspan.drain") { isExpired in
            if isExpired { onExpiry() } else { end.wait() }
        }
        return { _ = end.signal() }
    }
}
#endif
