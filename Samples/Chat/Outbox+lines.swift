#if OUTBOX
import Linkspan
import LinkspanOutbox

extension OutboxFigures {
    /// Whether nothing waits, neither for the server nor to be confirmed.
    var isEmpty: Bool { self.waiting == 0 && self.outcomes == 0 }
}

extension OutboxEntry {
    /// The row in one line: key, outcome, account, age, event, size and text.
    var line: String {
        let state =
            switch self.delivery.outcome {
            case nil: "waiting"
            case .success?: "delivered"
            case .failure(let error)?: error.code.rawValue
            }
        let account = self.delivery.account.map { VisibleText.name($0) } ?? "nobody"
        let seconds = self.age.components.seconds
        return "\(self.delivery.key) \(state) \(account) \(seconds)s \(self.delivery.event) "
            + "\(self.delivery.payload.byteCount)B: \(VisibleText.of(self.text))"
    }

    /// The text that is to be said.
    var text: String { self.delivery.payload[0]?["text"]?.string ?? "" }
}
#endif
