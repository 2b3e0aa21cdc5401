/// A policy that reads from a server's reply whether it has accepted a delivery.
///
/// The meaning of replies is the server's own, so the app reads them:
///
/// ```swift
/// options.deliveries.replies = ReplyPolicy { reply in
///     switch reply[0]?["error"]?["code"]?.string {
///     case nil: .taken
///     case "busy": .later
///     default: .refused
///     }
/// }
/// ```
///
/// A policy is the same only as its copies.
public struct ReplyPolicy: Sendable, Hashable {
    /// The meaning of a reply for its delivery.
    public enum Verdict: Sendable, Hashable {
        /// The server has accepted it: the delivery succeeds with this reply.
        case taken
        /// The server will never take it: it fails with code `messageRefused` and the reply as the details.
        case refused
        /// The server cannot take it now: it is sent again after ``DeliveryOptions/repeatAfter``, until it is set
        /// aside after 20 such replies: it fails with code `setAside` and the reply as the details, and the next delivery of its
        /// ordering key goes on.
        case later
    }

    /// The function, known by its instance, because functions cannot be compared.
    private struct Judge: Sendable, Hashable, CustomStringConvertible {
        let instance = InstanceNumber()
        let judge: @Sendable (Payload) -> Verdict

        var description: String { "function (\(self.instance))" }

        static func == (left: Self, right: Self) -> Bool { left.instance == right.instance }

        func hash(into hasher: inout Hasher) { hasher.combine(self.instance) }
    }

    private let judge: Judge

    /// Makes a policy.
    ///
    /// - Parameter judge: reads a reply; called on the executor of the transport for each reply to a delivery.
    public init(_ judge: @escaping @Sendable (Payload) -> Verdict) { self.judge = Judge(judge: judge) }

    func verdict(of reply: Payload) -> Verdict { self.judge.judge(reply) }
}
