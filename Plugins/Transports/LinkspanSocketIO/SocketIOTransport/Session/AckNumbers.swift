/// The numbers under which the requests of a link are acknowledged in its namespace.
///
/// Connections count their requests from 0, and a server may answer a request of a link that has left the namespace when
/// another one has joined it on the same socket. So the numbers of the next link go on behind those of the former.
struct AckNumbers: Sendable {
    /// The number of the link's request 0.
    private let first: UInt64
    /// The number behind all that were asked for.
    private(set) var next: UInt64

    init(first: UInt64 = 0) { (self.first, self.next) = (first, first) }

    /// Whether a request is sent for the first time.
    func isNew(_ request: UInt64) -> Bool { self.first &+ request >= self.next }

    /// The number of a request on the wire.
    mutating func number(of request: UInt64) -> UInt64 {
        let number = self.first &+ request
        self.next = max(self.next, number &+ 1)
        return number
    }
}
