#if canImport(UIKit) || canImport(AppKit) || canImport(WatchKit)
private import Foundation
public import LinkspanLifecycle
#if os(watchOS)
private import WatchKit
#elseif canImport(UIKit)
private import UIKit
#else
private import AppKit
#endif

/// A source of the app's phases: active, foreground and background, and its end.
///
/// An app on the Mac goes on when others are in front, so it never goes to the background: there it reports when the
/// app becomes active and when it resigns. An app of SwiftUI can use `forwardsAppEvents(to:)` instead.
public struct AppPhaseSource: EventSource {
    private enum Notice: Sendable {
        case phase(AppPhase, ContinuousClock.Instant)
        case end
    }

    /// Makes a source.
    public init() {}

    /// Emits each change until the task is cancelled.
    public func run(_ emit: @escaping @Sendable (AppEvent) -> Void) async throws {
        let center = NotificationCenter.default
        let (notices, notice) = AsyncStream.makeStream(of: Notice.self)
        var observers = await Self.phases.map { name, phase in
            center.addObserver(forName: name, object: nil, queue: nil) { _ in notice.yield(.phase(phase, .now)) }
        }
        if let name = await Self.end {
            observers.append(center.addObserver(forName: name, object: nil, queue: nil) { _ in notice.yield(.end) })
        }
        var tracker = AppPhaseTracker()
        for await notice in notices {
            switch notice {
            case .phase(let phase, let time): for event in tracker.moved(to: phase, now: time) { emit(event) }
            case .end: emit(.willTerminate(reason: "system", grace: nil))
            }
        }
        for observer in observers { center.removeObserver(observer) }
    }

    @MainActor private static var phases: [(Notification.Name, AppPhase)] {
        #if os(watchOS)
        [
            (WKApplication.willEnterForegroundNotification, .inactive),
            (WKApplication.didBecomeActiveNotification, .active),
            (WKApplication.willResignActiveNotification, .inactive),
            (WKApplication.didEnterBackgroundNotification, .background),
        ]
        #elseif canImport(UIKit)
        [
            (UIApplication.willEnterForegroundNotification, .inactive),
            (UIApplication.didBecomeActiveNotification, .active),
            (UIApplication.willResignActiveNotification, .inactive),
            (UIApplication.didEnterBackgroundNotification, .background),
        ]
        #else
        [
            (NSApplication.didBecomeActiveNotification, .active),
            (NSApplication.willResignActiveNotification, .inactive),
        ]
        #endif
    }

    @MainActor private static var end: Notification.Name? {
        #if os(watchOS)
        nil
        #elseif canImport(UIKit)
        UIApplication.willTerminateNotification
        #else
        NSApplication.willTerminateNotification
        #endif
    }
}
#endif
