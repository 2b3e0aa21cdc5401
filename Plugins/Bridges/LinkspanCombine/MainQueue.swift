private import Dispatch

/// The queue of the main actor.
enum MainQueue {
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the caller runs on it, so that it may be code of the main actor.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: self.key) == true }
}
