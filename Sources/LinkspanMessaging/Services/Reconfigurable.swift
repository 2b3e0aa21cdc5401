public import Linkspan
public import LinkspanLifecycle

/// A service that takes over new values of its options while it runs.
///
/// Only options that it has declared with `isHot` come this way; a change of another one restarts it.
///
/// ```swift
/// extension CounterService: Reconfigurable {
///     func reconfigure(_ options: OptionValues) async throws {
///         self.step.withLock { $0 = options["step"] ?? 1 }
///     }
/// }
/// ```
public protocol Reconfigurable: LifecycleService {
    /// Takes over all options, the changed and the others.
    ///
    /// Changes all or nothing. It has as long as the service may handle an event.
    ///
    /// - Parameter options: the values, checked against the declarations.
    /// - Throws: why they cannot be taken over; the whole change of the plan is rolled back then.
    func reconfigure(_ options: OptionValues) async throws
}
