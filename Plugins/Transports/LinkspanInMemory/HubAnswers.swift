internal import DequeModule
internal import Linkspan

/// The answers of a hub by the keys of what they answered, so that a repetition gets the first one.
struct HubAnswers: Sendable {
    private struct Account: Sendable {
        var answers: [String: Payload] = [:]
        /// The oldest first.
        var keys: Deque<String> = []
    }

    /// The number of an account's keys that are remembered.
    private static let limit = 100_000

    private var accounts: [String: Account] = [:]

    /// The answer to a key that came before.
    func answer(to key: String, account: String) -> Payload? { self.accounts[account]?.answers[key] }

    /// Remembers the answer to a new key.
    mutating func add(_ answer: Payload, to key: String, account name: String) {
        var account = self.accounts.removeValue(forKey: name) ?? Account()
        account.answers[key] = answer
        account.keys.append(key)
        if account.keys.count > Self.limit, let oldest = account.keys.popFirst() { account.answers[oldest] = nil }
        self.accounts[name] = account
    }
}
