internal import Linkspan

extension Payload {
    /// Arguments from the inside of a JSON array.
    static func json(_ text: String) -> Payload { Payload(trustedElements: Array(text.utf8)[...]) }
}
