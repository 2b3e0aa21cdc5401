#if canImport(Combine) || OpenCombine
private import Dispatch

/// The queue of the main actor.
enum MainQueue {
    private static let key: DispatchSpecificKey<Bool> = {
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        return key
    }()

    /// Whether the caller runs on the main queue, as code of the main actor does.
    static var isCurrent: Bool { DispatchQueue.getSpecific(key: self.key) == true }
}
#endif
