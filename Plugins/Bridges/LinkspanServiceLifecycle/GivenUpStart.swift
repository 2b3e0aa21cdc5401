#if ServiceLifecycle
internal import Linkspan
internal import LinkspanLifecycle

extension Error {
    /// Whether a start ended because it was called off, and not because something failed.
    var isGivenUpStart: Bool {
        switch self {
        // A service may notice the cancellation before the registry does, and fail by it.
        case let error as RegistryError: error.code == .startCancelled || error.code == .startFailed
        case let error as LinkspanError: error.cause?.isGivenUpStart ?? false
        default: self is CancellationError
        }
    }
}
#endif
