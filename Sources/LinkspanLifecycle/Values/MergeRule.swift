/// A rule that merges the answers of several services into one.
///
/// The combination is associative and `none` changes nothing, so nesting registries never changes an answer.
public struct MergeRule<Answer: Sendable>: Sendable {
    /// The answer when no service is asked.
    let none: Answer
    /// Combines the answers of earlier services with those of later ones.
    let combine: @Sendable (Answer, Answer) -> Answer

    /// Makes a rule; `combine` must be associative and `none` its identity.
    public init(none: Answer, combine: @escaping @Sendable (Answer, Answer) -> Answer) {
        self.none = none
        self.combine = combine
    }
}

extension MergeRule where Answer == Bool {
    /// True if any answer is true.
    public static var anyTrue: MergeRule { MergeRule(none: false) { $0 || $1 } }

    /// True unless an answer is false.
    public static var allTrue: MergeRule { MergeRule(none: true) { $0 && $1 } }
}

extension MergeRule where Answer == Verdict {
    /// Allowed unless a service vetoes; all reasons are kept, in order.
    public static var veto: MergeRule {
        MergeRule(none: .allow) { left, right in
            switch (left, right) {
            case (.allow, let other), (let other, .allow): other
            case (.veto(let first), .veto(let second)): .veto(first + second)
            }
        }
    }
}

extension MergeRule {
    /// The first answer that is not nil, in the order of start.
    public static func firstNonNil<Wrapped: Sendable>() -> MergeRule where Answer == Wrapped? {
        MergeRule(none: nil) { $0 ?? $1 }
    }
}

/// An answer that allows something or vetoes it.
public enum Verdict: Sendable, Hashable {
    /// Allowed.
    case allow
    /// Vetoed, for these reasons.
    case veto([String])

    /// Vetoed, for this reason.
    public static func veto(_ reason: String) -> Verdict { .veto([reason]) }
}
