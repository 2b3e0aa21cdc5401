#if OUTBOX
import Linkspan
import LinkspanOutbox

/// A delivery of an outbox as it is listed.
struct OutboxRow: Encodable {
    var key: String
    /// `waiting`, `delivered`, or the code of the error.
    var state: String
    var account: String?
    /// Seconds since the message was handed over.
    var age: Int64
    var event: String
    var bytes: Int
    /// The arguments, as JSON without brackets.
    var arguments: String

    init(_ entry: OutboxEntry) {
        let delivery = entry.delivery
        (self.key, self.account, self.event) = (delivery.key, delivery.account, delivery.event)
        self.state =
            switch delivery.outcome {
            case nil: "waiting"
            case .success?: "delivered"
            case .failure(let error)?: error.code.rawValue
            }
        self.age = entry.age.components.seconds
        self.bytes = delivery.payload.byteCount
        self.arguments = String(decoding: delivery.payload.elements, as: UTF8.self)
    }

    /// The row in one line: key, outcome, account, age, event, size and the beginning of the arguments.
    var line: String {
        let account = self.account.map { $0.allSatisfy { $0.isLetter || $0.isNumber } ? $0 : "\"\($0)\"" } ?? "nobody"
        return "\(self.key) \(self.state) \(account) \(self.age)s \(self.event) \(self.bytes)B: "
            + ForeignText.line(self.arguments)
    }
}
#endif
