#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork

/// Forwards an event of the library to the stream it belongs to; decides nothing.
///
/// Returns non-zero to have the connection closed.
func libraryCallback(
    _ user: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ event: clws_event,
    _ data: UnsafeMutableRawPointer?, _ count: Int
) -> CInt {
    guard let user, let connection else { return 0 }
    let dial = Unmanaged<Dial>.fromOpaque(user).takeUnretainedValue()
    if let takeover = dial.takeover { return takenCallback(dial, takeover, event, data, count) }
    let stream = dial.stream
    dial.noticed(connection)
    switch event {
    case .received:
        // A chunk's length that overflows the library's number makes it report, and then go back by, a length below
        // zero.
        guard (0...Int(clws_receive_size)).contains(count) else {
            stream.broke(dial)
            return -1
        }
        return stream.received(dial, UnsafeRawBufferPointer(start: data, count: count)) ? 0 : -1
    case .writable:
        return stream.writable(dial) ? 0 : -1
    case .request:
        guard let room = data?.assumingMemoryBound(to: clws_room.self) else { return -1 }
        return stream.writeRequest(dial, into: room) ? 0 : -1
    case .head:
        return stream.receivedHead(dial, connection) ? 0 : -1
    case .certificate:
        guard let certificate = data?.assumingMemoryBound(to: clws_certificate.self) else { return -1 }
        return stream.checkCertificate(dial, certificate) ? 0 : -1
    case .failed:
        let text = String(decoding: UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : count), as: UTF8.self)
        let failure = DialFailure(connection, text: text, request: stream.request)
        dial.goesDown()
        stream.failed(dial, failure)
    case .completed:
        dial.goesDown()
        stream.completed(dial, byItself: count > 0)
    case .closed:
        let refusal = DialFailure.refusedIdentity(connection, request: stream.request)
        dial.goesDown()
        if let refusal { stream.failed(dial, refusal) } else { stream.closed(dial) }
    case .destroyed:
        dial.goesDown()
        stream.closed(dial)
        dial.release()
    }
    // Endings may come from a timer, after which the library goes on to sleep without asking for our jobs.
    stream.core.loop.wake()
    return 0
}

/// The library hands over what it had read of a connection that is taken from it, and then closes what it has left of it.
private func takenCallback(
    _ dial: Dial, _ takeover: Takeover, _ event: clws_event, _ data: UnsafeMutableRawPointer?, _ count: Int
) -> CInt {
    if event == .received, count > 0 { takeover.keep(UnsafeRawBufferPointer(start: data, count: count)) }
    if event == .destroyed {
        dial.goesDown()
        dial.release()
    }
    return 0
}
#endif
