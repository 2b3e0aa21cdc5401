internal import Linkspan
internal import LinkspanRuntime
internal import LinkspanSocketIO

/// Socket.IO by the options that hold when a link is made, so that new options need no new connection.
struct ManagedTransport: Transport {
    /// A report of a link to its socket besides messages and states.
    enum Notice: Sendable {
        /// The link is open, or its facts have changed.
        case info(LinkInfo)
        /// The server has answered a ping, and nothing else has come with the answer.
        case heartbeat
    }

    let name = "socketio"
    let schemes: Set<String> = ["http", "https"]
    let executor: any JobExecutor
    let identity: [String: Secret]
    /// The configuration and the credentials of the next link.
    let terms: @Sendable () -> (SocketIOConfiguration, Credentials)
    let notice: @Sendable (Notice) -> Void

    func makeLink(_ request: LinkRequest, receiver: any LinkReceiver) -> any Link {
        var request = request
        let (configuration, credentials) = self.terms()
        request.credentials = credentials
        let receiver = NotingReceiver(receiver, note: self.notice)
        return SocketIOTransport(configuration).makeLink(request, receiver: receiver)
    }
}

/// Passes a link's events on, and notes what the connection does not tell.
private final class NotingReceiver: LinkReceiver {
    private let receiver: any LinkReceiver
    private let note: @Sendable (ManagedTransport.Notice) -> Void

    init(_ receiver: any LinkReceiver, note: @escaping @Sendable (ManagedTransport.Notice) -> Void) {
        self.receiver = receiver
        self.note = note
    }

    func receive(_ next: () -> LinkEvent?) {
        // A link that has heard of its server, and nothing else, says so without an event.
        var isAlive = true
        self.receiver.receive {
            let event = next()
            switch event {
            case .opened(let info): (isAlive, _) = (false, self.note(.info(info)))
            case .changed(let info): (isAlive, _) = (info.roundTrip != nil, self.note(.info(info)))
            case .message, .reply, .failed, .writable, .closed: isAlive = false
            case nil: ()
            }
            return event
        }
        if isAlive { self.note(.heartbeat) }
    }
}
