package import Linkspan

/// A stream of bytes in both directions, or the attempt to open one.
///
/// It lives on its loop: its methods are called there, also from inside its handler, which none of them calls.
package protocol ByteStream: AnyObject {
    /// Sends the bytes that `fill` appends to the buffer; it must not change the buffer in any other way.
    ///
    /// What a turn of the loop has written leaves together at its end.
    ///
    /// - Returns: `acceptedAndFull` when more bytes wait now than the stream's high-water mark; `refused` when nothing more
    ///   is sent, in which case `fill` was not called.
    @discardableResult
    func write(_ fill: (inout [UInt8]) -> Void) -> SendAcceptance

    /// The bytes that wait to be sent.
    var pendingBytes: Int { get }

    /// Sends the remaining bytes, closes the sending side, and ends when the peer does, within 5 seconds.
    ///
    /// What still arrives is dropped; more than `limit` bytes of it end the stream.
    func finish(readingAtMost limit: Int)

    /// Ends at once, at any moment.
    ///
    /// Unsent bytes are dropped. The handler gets only the end.
    func abort()

    /// Stops reading, so that the peer has to wait, or reads on. Nothing is lost.
    func setReadingPaused(_ isPaused: Bool)

    /// The numeric address of the peer of an accepted stream, when the back end knows it; nil for others.
    var peerAddress: String? { get }

    /// The stage that opening is in; nil once the stream is open or has ended, and for back ends that do not report it.
    var openingStage: OpeningStage? { get }
}

extension ByteStream {
    /// No address.
    package var peerAddress: String? { nil }

    /// No stage.
    package var openingStage: OpeningStage? { nil }

    /// Sends the remaining bytes, closes the sending side, and ends when the peer does, within 5 seconds.
    package func finish() { self.finish(readingAtMost: .max) }
}
