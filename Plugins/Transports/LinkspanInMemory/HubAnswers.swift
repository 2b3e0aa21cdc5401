internal import DequeModule
internal import Linkspan

/// The answers of a hub by the keys of what they answered, so that a repetition gets the first one.
// Unchecked because the compiler cannot see that it is used on the hub's executor alone.
final class HubAnswers: @unchecked Sendable {
    private struct Account: Sendable {
        var answers: [String: Payload] = [:]
        /// The oldest first.
        var keys: Deque<String> = []
    }

    /// The number of an account's keys that are remembered.
    private static let limit = 100_000

    private var accounts: [String: Account] = [:]

    /// The answer to a key; a new one is made by `apply`.
    ///
    /// Called on the hub's executor, so that nobody else applies the same key meanwhile.
    func answer(to key: String, account name: String, apply: () -> Payload) -> Payload {
        if let former = self.accounts[name]?.answers[key] { return former }
        let answer = apply()
        var account = self.accounts.removeValue(forKey: name) ?? Account()
        account.answers[key] = answer
        account.keys.append(key)
        if account.keys.count > Self.limit, let oldest = account.keys.popFirst() { account.answers[oldest] = nil }
        self.accounts[name] = account
        return answer
    }
}
