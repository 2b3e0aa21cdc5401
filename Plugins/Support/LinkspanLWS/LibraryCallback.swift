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
    guard !dial.isTaken else {
        if event == .destroyed {
            dial.goesDown()
            dial.release()
        }
        return 0
    }
    let stream = dial.stream
    dial.noticed(connection)
    switch event {
    case .request:
        guard let room = data?.assumingMemoryBound(to: clws_room.self) else { return -1 }
        return stream.writeRequest(dial, into: room) ? 0 : -1
    case .certificate:
        guard let certificate = data?.assumingMemoryBound(to: clws_certificate.self) else { return -1 }
        return stream.checkCertificate(dial, certificate) ? 0 : -1
    case .failed:
        let text = String(decoding: UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : count), as: UTF8.self)
        let failure = DialFailure(connection, text: text, request: stream.request)
        dial.goesDown()
        stream.failed(dial, failure)
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
#endif
