#if LWS
internal import CLibwebsockets
internal import LinkspanNetwork
internal import LinkspanRuntime

/// The owner of an opener, which learns what becomes of the connection.
protocol OpenerOwner: AnyObject {
    /// Whether the request may be sent now.
    func sendsRequest() -> Bool

    /// The server's certificate is not accepted; the failure follows.
    func rejected(_ error: ByteStreamError)

    /// The request is written, and the socket is the owner's from now on.
    func opened(_ socket: OpenSocket)

    func failed(_ failure: DialFailure)
}

/// Has libwebsockets open a connection: TLS, verification, and the request.
///
/// The answer is read by the stream.
///
/// libwebsockets holds it as user data: retained once when its connection is made, and released once when the library
/// reports that it destroyed the connection, and only then.
final class Opener {
    private let request: StreamRequest
    private let host: VirtualHost
    private let library: Library
    /// Nil once the connection is open, has failed or is given up; from then on events of the library are ignored.
    private var owner: (any OpenerOwner)?
    /// The library's connection, nil before its first event and once it is going down.
    private var connection: OpaquePointer?
    /// Whether the server's certificate was looked at, and found good, on this very connection.
    private var isVerified = false
    /// Whether the library's reference has been given back.
    private var isReleased = false
    /// Whether the connection is going down by itself, so that it must not be touched any more.
    private var isOver = false

    init(_ request: StreamRequest, host: VirtualHost, library: Library, owner: any OpenerOwner) {
        self.request = request
        self.host = host
        self.library = library
        self.owner = owner
    }

    /// Gives the library a connected socket, which it uses or closes.
    func open(_ descriptor: CInt) {
        self.host.uses += 1
        self.library.openerCount += 1
        let connection = clws_connect(
            self.library.raw, self.host.pointer, Unmanaged.passRetained(self).toOpaque(), self.request.hostHeader,
            self.request.target, self.request.method, self.request.closesConnection, self.request.isSecure)
        guard let connection, clws_dock_swap(&self.library.raw.pointee.dock, connection, descriptor) else {
            // Some failures are reported by events within the call and destroy the connection, others are not.
            if let connection { clws_kill(connection) } else { clws_discard(descriptor) }
            if connection == nil { self.release() }
            let error = ByteStreamError(.unavailable, "the library has no socket for the connection")
            return self.fail(.rejected(error))
        }
        self.noticed(connection)
    }

    /// Gives the connection up.
    func cancel() {
        self.owner = nil
        if let connection = self.connection { clws_kill(connection) }
    }

    // MARK: Events of the library

    fileprivate func handle(
        _ event: clws_event, _ connection: OpaquePointer, _ data: UnsafeMutableRawPointer?, _ count: Int
    ) -> CInt {
        guard self.owner != nil else { return self.handleUnowned(event) }
        self.noticed(connection)
        switch event {
        case .request:
            guard let room = data?.assumingMemoryBound(to: clws_room.self) else { return -1 }
            return self.writeRequest(connection, into: room) ? 0 : -1
        case .certificate:
            guard let certificate = data?.assumingMemoryBound(to: clws_certificate.self) else { return -1 }
            return self.accepts(certificate) ? 0 : -1
        case .failed:
            let text = String(
                decoding: UnsafeRawBufferPointer(start: data, count: data == nil ? 0 : count), as: UTF8.self)
            self.reportCertificateRequest(connection)
            let failure = DialFailure(connection, text: text, request: self.request)
            self.goesDown()
            self.fail(failure)
        case .closed:
            let refusal = DialFailure.refusedIdentity(connection, request: self.request)
            self.goesDown()
            self.fail(refusal ?? .hangUp)
        case .destroyed:
            self.goesDown()
            self.fail(.hangUp)
            self.release()
        }
        // Endings may come from a timer, after which the library goes on to sleep without asking for our jobs.
        self.library.executor.wake()
        return 0
    }

    /// Handles what the library reports of a connection that is open already or was given up.
    private func handleUnowned(_ event: clws_event) -> CInt {
        switch event {
        case .request, .certificate: return -1
        case .failed, .closed: self.goesDown()
        case .destroyed:
            self.goesDown()
            self.release()
        }
        return 0
    }

    private func noticed(_ connection: OpaquePointer) {
        if !self.isOver { self.connection = connection }
    }

    private func goesDown() {
        self.isOver = true
        self.connection = nil
    }

    /// Gives the library's reference back, once.
    private func release() {
        guard !self.isReleased else { return }
        self.isReleased = true
        self.host.uses -= 1
        self.library.openerCount -= 1
        Unmanaged.passUnretained(self).release()
    }

    private func fail(_ failure: DialFailure) {
        guard let owner = self.owner else { return }
        self.owner = nil
        owner.failed(failure)
    }

    /// Returns false to have the connection closed, as does the next.
    private func writeRequest(_ connection: OpaquePointer, into room: UnsafeMutablePointer<clws_room>) -> Bool {
        guard !self.isOver, let owner = self.owner, owner.sendsRequest() else { return false }
        // Never in the clear what was to be secret, whatever the library makes of a configuration.
        guard !self.request.isSecure || (lws_is_ssl(connection) != 0 && self.isVerified) else { return false }
        self.reportCertificateRequest(connection)
        let lines = self.request.headerLines
        guard clws_room_append(room, lines, lines.count) else { return false }
        clws_hold_answer(connection)
        // The request is written when this call has returned.
        self.library.executor.executeLocally { self.takeSocket() }
        return true
    }

    private func reportCertificateRequest(_ connection: OpaquePointer) {
        guard clws_tls_asks_for_certificate(lws_get_ssl(connection), TLSContext.note) else { return }
        self.request.onHandshake?(.certificateRequest)
    }

    private func accepts(_ certificate: UnsafeMutablePointer<clws_certificate>) -> Bool {
        guard let owner = self.owner else { return false }
        let check = CertificateCheck(host: self.request.serverName, policy: self.request.tls)
        self.request.onHandshake?(.certificates(check.chain(certificate)))
        switch check.verdict(certificate) {
        case .next: return true
        case .good:
            self.isVerified = true
            return true
        case .bad(let error):
            owner.rejected(error)
            return false
        }
    }

    /// Takes socket and TLS session from the library, which is left with an idle socket and closes that at once.
    private func takeSocket() {
        guard let owner = self.owner, let connection = self.connection else { return }
        self.owner = nil
        guard let socket = OpenSocket(takenFrom: connection, leaving: self.library.idleSocket) else {
            let error = ByteStreamError(.unavailable, "the connection could not be taken from the library")
            return owner.failed(.rejected(error))
        }
        owner.opened(socket)
    }
}

/// Forwards an event of the library to the opener that it belongs to.
///
/// Returns non-zero to have the connection closed.
func libraryCallback(
    _ user: UnsafeMutableRawPointer?, _ connection: OpaquePointer?, _ event: clws_event,
    _ data: UnsafeMutableRawPointer?, _ count: Int
) -> CInt {
    guard let user, let connection else { return 0 }
    return Unmanaged<Opener>.fromOpaque(user).takeUnretainedValue().handle(event, connection, data, count)
}

/// From the library's text, which is all that it tells, and from what OpenSSL told us.
extension DialFailure {
    init(_ connection: OpaquePointer, text: String, request: StreamRequest) {
        let lowercase = text.lowercased()
        clws_tls_hear_out(lws_get_ssl(connection))
        let tls = clws_tls_failure_of(lws_get_ssl(connection), TLSContext.note)
        if request.isSecure, tls == .identity || lowercase.contains("ssl") || lowercase.contains("tls") {
            let words = clws_tls_words(lws_get_ssl(connection), TLSContext.note).map { String(cString: $0) }
            self = .rejected(Self.error(tls, words ?? text))
        } else if ["read failed", "hung up", "closed", "unable to connect"].contains(where: { lowercase.contains($0) })
        {
            self = .hangUp
        } else {
            self = .answer(text)
        }
    }

    /// The failure of a connection that the library only calls closed, when the server said that it is about our
    /// certificate: in TLS 1.3 it does so after the handshake.
    static func refusedIdentity(_ connection: OpaquePointer, request: StreamRequest) -> Self? {
        guard request.isSecure else { return nil }
        clws_tls_hear_out(lws_get_ssl(connection))
        return Self.noted(lws_get_ssl(connection))
    }

    /// The same for a connection whose end was read by us.
    static func noted(_ tls: OpaquePointer?) -> Self? {
        clws_tls_failure_of(tls, TLSContext.note) == .identity ? .rejected(Self.error(.identity, "")) : nil
    }

    private static func error(_ failure: clws_tls_failure, _ text: String) -> ByteStreamError {
        switch failure {
        case .cut: HandshakeFailure.cut.error
        case .version: HandshakeFailure.version.error
        case .identity: HandshakeFailure.identity.error
        case .foreign: HandshakeFailure.foreign.error
        case .unknown: HandshakeFailure.unknown(text).error
        }
    }
}

/// The socket of a stream with its TLS session, if it has one.
struct OpenSocket {
    let descriptor: CInt
    /// OpenSSL's session, nil without TLS.
    let tls: OpaquePointer?
    /// The events that the poller watches for.
    var watched = CInt(clws_unwatched)
    /// Whether TLS has to send before it can read on.
    var readsWhenWritable = false
    /// Whether the end of what is sent has still to be announced, because the system had no room for the announcement.
    var isEndDue = false
    /// Whether the connection is broken; what the system has received already can still be read.
    var isBroken = false
    /// Whether the last read has found the end of the connection.
    var isOver = false
    /// Whether the peer has sent the TLS `close_notify` alert.
    var hasFarewell = false

    init(_ descriptor: CInt, tls: OpaquePointer? = nil) {
        self.descriptor = descriptor
        self.tls = tls
    }

    /// Takes a connection from the library, which is left with a copy of `idleSocket` and closes that at once; nil, and
    /// closed, when there is no descriptor or no memory to spare.
    init?(takenFrom connection: OpaquePointer, leaving idleSocket: CInt) {
        var taken = clws_taken()
        guard clws_take(connection, idleSocket, &taken) else { return nil }
        self.init(taken.descriptor, tls: taken.tls)
    }

    /// Says that nothing more is sent; returns false when that has to be repeated.
    func endWriting() -> Bool { clws_end_writing(self.descriptor, self.tls) }

    func close() { clws_close(self.descriptor, self.tls) }
}
#endif
