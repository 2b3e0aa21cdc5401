/// The receiver of one stream's events.
///
/// Every call is made on the stream's loop, one at a time and in order, and never from inside a call of the stream: at
/// most one `opened`, then any number of the middle two, then exactly one `closed`. A method that blocks holds up
/// every stream of the loop. All methods may call the stream's own methods.
package protocol ByteStreamHandler: AnyObject {
    /// The answer's head is here, and what follows are the stream's bytes; not called for accepted streams.
    ///
    /// Judge the head here and abort the stream when it is wrong; nothing was sent after the request so far.
    func opened(_ head: ResponseHead)

    /// Takes the bytes of one read, at most 256 KiB, in an array of their own.
    func received(_ bytes: [UInt8])

    /// More may be written: the bytes that wait fell to the low-water mark or below, after having been above it.
    func writable()

    /// The stream or the attempt to open it is over; called exactly once, as the last call, whatever happened.
    func closed(_ reason: ByteStreamError)
}
