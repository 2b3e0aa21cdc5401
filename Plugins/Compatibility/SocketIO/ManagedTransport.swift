internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanSocketIO

/// Socket.IO by the options that hold when a link is made, so that new options need no new connection.
struct ManagedTransport: Transport {
    let name = "socketio"
    let schemes: Set<String> = ["http", "https"]
    let executor: any JobExecutor
    let identity: [String: Secret]
    /// The configuration and the credentials of the next link.
    let terms: @Sendable () -> (SocketIOConfiguration, Credentials)
    /// Called with the facts of a link that is open or has changed, and with nil when the server has answered a ping and
    /// nothing else has come with the answer.
    let notice: @Sendable (LinkInfo?) -> Void

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        var request = request
        let (configuration, credentials) = self.terms()
        request.credentials = credentials
        return SocketIOTransport(configuration).makeLink(request, receiver: NotingReceiver(receiver, note: self.notice))
    }
}

/// Passes a link's events on, and notes what the connection does not tell.
private final class NotingReceiver: LinkReceiver {
    private let receiver: any LinkReceiver
    private let note: @Sendable (LinkInfo?) -> Void

    init(_ receiver: any LinkReceiver, note: @escaping @Sendable (LinkInfo?) -> Void) {
        self.receiver = receiver
        self.note = note
    }

    func receive(_ next: () -> LinkEvent?) {
        // A link that has heard of its server, and nothing else, says so without an event.
        var isAlive = true
        self.receiver.receive {
            let event = next()
            switch event {
            case .opened(let info): (isAlive, _) = (false, self.note(info))
            case .changed(let info): (isAlive, _) = (info.roundTrip != nil, self.note(info))
            case .message, .reply, .failed, .writable, .closed: isAlive = false
            case nil: ()
            }
            return event
        }
        if isAlive { self.note(nil) }
    }
}
