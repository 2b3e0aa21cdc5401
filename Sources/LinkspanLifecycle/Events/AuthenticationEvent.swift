/// What happens to credentials and users; no event holds a credential.
@nonexhaustive
public enum AuthenticationEvent: Sendable, Hashable {
    /// New credentials are in force, for this long if known.
    case refreshed(validFor: Duration?, attempt: Int)
    /// No new credentials were to be had; the next try is after `retryAfter`, or never.
    case refreshFailed(attempt: Int, reason: String, retryAfter: Duration?)
    /// The server no longer accepts the user.
    case revoked
    /// Another user is in charge; both are digests, not names.
    case userChanged(from: String?, to: String?)

    var retention: Retention { .keep(.authentication) }
}

extension AuthenticationEvent: FamilyEvent {
    /// The family of these events.
    public static var family: EventFamily { .authentication }

    /// The event among those of all families.
    public var erased: LifecycleEvent { .authentication(self) }

    /// Picks the event out of those of all families; `nil` if it belongs to another.
    public init?(_ event: LifecycleEvent) {
        guard case .authentication(let own) = event else {
            return nil
        }
        self = own
    }
}
