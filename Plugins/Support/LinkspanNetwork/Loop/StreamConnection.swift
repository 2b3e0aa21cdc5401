/// A connection that a back end makes for a stream: TCP, the proxy, TLS and the request, then the stream's bytes.
///
/// It reports to its stream with ``LoopStream/reached(_:)``, ``LoopStream/sendsRequest(_:)`` and
/// ``LoopStream/opened(_:)`` or ``LoopStream/failed(_:_:)``, and from then on with ``LoopStream/received(_:)``,
/// ``LoopStream/flush()`` when the system takes bytes again, and ``LoopStream/closed(isCut:)``; never after ``close()``.
package protocol StreamConnection: AnyObject {
    /// Begins to connect.
    func open(_ address: StreamAddress)

    /// The stage of the opening.
    func openingStage(_ peer: OpeningStage.Peer) -> OpeningStage

    /// Sends what the stream has to send, as far as the system takes it.
    ///
    /// - Returns: false when nothing can be sent any more.
    func flush() -> Bool

    /// Carries another stream's request from now on; the exchange before has ended.
    func carry(_ stream: LoopStream)

    /// Reads on, or stops; a connection that is broken reads in any case.
    func setReading(_ isReading: Bool)

    /// Tells the peer that nothing more is sent.
    func endWriting()

    /// Ends it at once, at any moment.
    func close()
}

/// The address of a connection.
package enum StreamAddress: Sendable {
    /// A numeric address, or a name where the back end looks names up.
    case host(String, port: Int)
    /// The path of a Unix-domain socket.
    case path(String)
}
