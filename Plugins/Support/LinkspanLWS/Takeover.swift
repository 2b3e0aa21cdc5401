#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork

/// A connection between the library, which has opened it, and the loop, which serves it from then on.
///
/// It begins within the event that tells of the answer's head. There the library is left with a decoy for its socket,
/// and asked for the bytes that it has read beyond the head. It ends after the library has closed the decoy.
final class Takeover {
    /// The answer that opened the stream, or an interim one.
    let answer: UpgradeAnswer
    /// The bytes behind the answer's head that had arrived with it.
    private(set) var early: [UInt8] = []
    private var taken: clws_taken

    /// Takes the connection of a dial; nil when the process has no descriptor to spare.
    init?(_ dial: Dial, _ connection: OpaquePointer, _ answer: UpgradeAnswer, core: LoopCore) {
        var taken = clws_taken()
        guard clws_take(connection, core.decoy, &taken) else { return nil }
        self.taken = taken
        self.answer = answer
        dial.takeover = self
        clws_drain(core.raw, connection)
        clws_taken_hush(&self.taken)
    }

    /// Keeps bytes that the library had read.
    func keep(_ bytes: UnsafeRawBufferPointer) { self.early.append(contentsOf: bytes) }

    /// The socket, once the library has let go of it; nil, and closed, when there is no memory for it.
    func settle() -> OpenSocket? {
        guard clws_taken_settle(&self.taken) else {
            clws_close(self.taken.descriptor, self.taken.tls)
            return nil
        }
        return OpenSocket(self.taken.descriptor, tls: self.taken.tls)
    }
}
#endif
