internal import Dispatch
internal import LinkspanNetwork
internal import LinkspanSocketIO
internal import SocketIO
internal import TestedBackEnds

/// What carries a program's packets.
enum Carrier: String, CaseIterable, Sendable {
    case websocket
    case polling
    case upgrade

    /// The options with which a program uses it, over the back end of the test that is running.
    var options: SocketIOClientConfiguration {
        let network = NetworkBackEnd.current
        var options: SocketIOClientConfiguration = [
            .handleQueue(DispatchQueue(label: "handlers")), .reconnectWait(1), .reconnectWaitMax(1),
            .linkspan { $0.network = network },
        ]
        switch self {
        case .websocket: options.insert(.forceWebsockets(true))
        case .polling: options.insert(.forcePolling(true))
        case .upgrade: ()
        }
        return options
    }
}
