#if canImport(UIKit) || canImport(AppKit) || canImport(WatchKit)
public import Foundation
#if os(watchOS)
public import WatchKit
private typealias FetchResult = WKBackgroundFetchResult
#elseif canImport(UIKit)
public import UIKit
private typealias FetchResult = UIBackgroundFetchResult
#endif

extension AppForwarder {
    /// Forwards a universal link: `application(_:continue:restorationHandler:)`, `onContinueUserActivity`.
    ///
    /// - Parameter activity: the activity that the system hands over.
    /// - Returns: whether it was a link, as the delegate's method has to tell.
    @discardableResult
    public func open(_ activity: NSUserActivity) -> Bool {
        guard activity.activityType == NSUserActivityTypeBrowsingWeb, let url = activity.webpageURL else {
            return false
        }
        self.open(url, origin: .universal)
        return true
    }
}

#if os(watchOS) || canImport(UIKit)
extension FetchResult {
    /// The outcome of a notification, as reported to the system.
    ///
    /// - Parameter outcome: the answer of the services.
    public init(_ outcome: PushOutcome) {
        switch outcome {
        case .newData: self = .newData
        case .noData: self = .noData
        case .failed: self = .failed
        }
    }
}
#endif
#endif
