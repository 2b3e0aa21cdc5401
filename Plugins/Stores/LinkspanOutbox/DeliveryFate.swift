#if OUTBOX
internal import Linkspan

/// The outcome of a delivery, as a row has it.
enum DeliveryFate: Int, Sendable {
    /// The server answered it.
    case delivered = 1
    /// The transport or the server refused the message itself, or its row in the file cannot be read.
    case rejected = 2
    /// Its time ran out.
    case expired = 3
    /// The app cancelled it.
    case cancelled = 4
    /// The server has asked too often for it to come later.
    case setAside = 5

    /// The fate that an outcome means.
    init(_ outcome: Result<Payload, LinkspanError>) {
        switch outcome {
        case .success: self = .delivered
        case .failure(let error) where error.code == .timedOut: self = .expired
        case .failure(let error) where error.code == .cancelled: self = .cancelled
        case .failure(let error) where error.code == .setAside: self = .setAside
        case .failure: self = .rejected
        }
    }
}
#endif
