/// How the answers of several services become one.
///
/// The combination is associative and `none` changes nothing, so nesting registries never changes an answer.
public struct MergeRule<Answer: Sendable>: Sendable {
    /// The answer of nobody.
    let none: Answer
    /// Combines the answers of earlier services with those of later ones.
    let combine: @Sendable (Answer, Answer) -> Answer

    /// Makes a rule; it is up to you that `combine` is associative and `none` its identity.
    public init(none: Answer, combine: @escaping @Sendable (Answer, Answer) -> Answer) {
        self.none = none
        self.combine = combine
    }
}

extension MergeRule where Answer == Bool {
    /// Yes if anybody says yes.
    public static var anyTrue: MergeRule { MergeRule(none: false) { $0 || $1 } }

    /// Yes unless somebody says no.
    public static var allTrue: MergeRule { MergeRule(none: true) { $0 && $1 } }
}

extension MergeRule where Answer == Verdict {
    /// Allowed unless somebody vetoes; all reasons are kept, in order.
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
    /// The first answer there is, in the order of start.
    public static func firstNonNil<Wrapped: Sendable>() -> MergeRule where Answer == Wrapped? {
        MergeRule(none: nil) { $0 ?? $1 }
    }
}

/// Whether something may happen.
public enum Verdict: Sendable, Hashable {
    /// It may.
    case allow
    /// It may not, for these reasons.
    case veto([String])

    /// It may not, for this reason.
    public static func veto(_ reason: String) -> Verdict { .veto([reason]) }
}
