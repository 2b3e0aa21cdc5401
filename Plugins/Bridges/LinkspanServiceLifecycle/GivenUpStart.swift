internal import Linkspan
internal import LinkspanLifecycle

extension Error {
    /// Whether a start ended because it was called off, and not because something failed.
    var isGivenUpStart: Bool {
        switch self {
        case let error as RegistryError: error.code == .startCancelled
        case let error as LinkspanError: error.cause?.isGivenUpStart ?? false
        default: self is CancellationError
        }
    }
}
