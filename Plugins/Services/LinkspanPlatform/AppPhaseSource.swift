#if (canImport(UIKit) && !os(watchOS)) || canImport(AppKit)
private import Foundation
public import LinkspanLifecycle
#if canImport(UIKit)
private import UIKit
#else
private import AppKit
#endif

/// A source of the app's phases: active, foreground and background.
///
/// An app on the Mac goes on when others are in front, so it never goes to the background: there it is told when the
/// app becomes active and when it resigns.
public struct AppPhaseSource: EventSource {
    /// Makes a source.
    public init() {}

    /// Hands on each change until the task is cancelled.
    public func run(_ emit: @escaping @Sendable (AppEvent) -> Void) async throws {
        let center = NotificationCenter.default
        let observers = await Self.phases.map { name, event in
            center.addObserver(forName: name, object: nil, queue: nil) { _ in emit(event) }
        }
        // Nothing ever comes: the stream ends when the task is cancelled.
        let (pause, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in pause {}
        continuation.finish()
        for observer in observers { center.removeObserver(observer) }
    }

    @MainActor private static var phases: [(Notification.Name, AppEvent)] {
        #if canImport(UIKit)
        [
            (UIApplication.willEnterForegroundNotification, .willEnterForeground(away: nil)),
            (UIApplication.didBecomeActiveNotification, .didBecomeActive),
            (UIApplication.willResignActiveNotification, .willResignActive),
            (UIApplication.didEnterBackgroundNotification, .didEnterBackground(grace: nil)),
        ]
        #else
        [
            (NSApplication.didBecomeActiveNotification, .didBecomeActive),
            (NSApplication.willResignActiveNotification, .willResignActive),
        ]
        #endif
    }
}
#endif
