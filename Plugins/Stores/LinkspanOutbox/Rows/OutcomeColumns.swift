#if OUTBOX
internal import Foundation
internal import GRDB
internal import Linkspan

/// An outcome as it stands in a row.
struct OutcomeColumns {
    /// The code of an outcome for the reason that the row cannot be read.
    static let unreadableCode = LinkspanError.Code.decodingFailed.rawValue

    let fate: DeliveryFate
    let code: String?
    let certainty: Int?
    let message: String?
    let reply: Data?

    /// The columns of an outcome.
    init(
        _ outcome: Result<Payload, LinkspanError>, encode: (Payload) throws(OutboxError) -> Data
    ) throws(OutboxError) {
        self.fate = DeliveryFate(outcome)
        switch outcome {
        case .success(let reply):
            (self.code, self.certainty, self.message) = (nil, nil, nil)
            self.reply = try encode(reply)
        case .failure(let error):
            self.code = error.code.rawValue
            self.certainty = error.certainty.map { $0 == .notSent ? 0 : 1 }
            self.message = error.message
            self.reply = try error.details.map(encode)
        }
    }

    /// The outcome in a row; nil while the delivery waits.
    init?(_ row: Row) {
        guard let fate = row.value("fate").flatMap(DeliveryFate.init(rawValue:)) else { return nil }
        self.fate = fate
        self.code = row.value("code")
        self.certainty = row.value("certainty")
        self.message = row.value("message")
        self.reply = row.value("reply")
    }

    /// The error of a row with a part that cannot be read.
    static func unreadable(_ part: String) -> LinkspanError {
        LinkspanError(.decodingFailed, "the outbox cannot read its \(part)", certainty: .unknown)
    }

    var isUnreadable: Bool { self.code == Self.unreadableCode }

    /// The outcome, with the payload in ``reply`` as far as it can be read.
    func outcome(reply: Payload?) -> Result<Payload, LinkspanError> {
        guard self.fate == .delivered else {
            let certainty = self.certainty.map { $0 == 0 ? LinkspanError.Certainty.notSent : .unknown }
            return .failure(
                LinkspanError(
                    .init(rawValue: self.code ?? ""), self.message ?? "", certainty: certainty, details: reply))
        }
        guard reply != nil || self.reply == nil else { return .failure(Self.unreadable("reply")) }
        return .success(reply ?? .empty)
    }
}
#endif
