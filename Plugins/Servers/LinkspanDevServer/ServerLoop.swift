private import LinkspanLWS
internal import LinkspanNetwork

/// The back end of the server, named here and nowhere else.
enum ServerLoop {
    static func make() -> any NetworkLoop { EventLoop(name: "linkspan-dev-server") }
}
