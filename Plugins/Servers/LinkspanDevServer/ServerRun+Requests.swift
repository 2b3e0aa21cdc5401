internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO

/// Requests by path: Engine.IO at `/socket.io/` and at the echo's path, the JSON envelope at any other path.
extension ServerRun: RequestServer {
    func serve(_ request: HTTPRequest, on connection: ServerConnection) {
        let origin: String?
        do throws(HTTPRequestError) {
            origin = try self.rules.origin(of: request)
        } catch {
            return connection.respond(.refusal(status: error.status, error.message))
        }
        connection.allow(origin)
        if request.method == "OPTIONS", origin != nil {
            connection.respond(.preflight(request))
        } else if let use = self.use(ofPath: request.path) {
            if let refusal = self.serveEngine(request, use, on: connection) { connection.respond(.refusal(refusal)) }
        } else if request.parameter("EIO") != nil {
            // A client of Socket.IO with another path would wait for its greeting over a raw WebSocket.
            connection.respond(.refusal(status: Self.notFound.status, Self.notFound.message))
        } else if request.isUpgrade {
            EnvelopeConnection(request, self.context).begin(on: connection)
        } else if ["GET", "HEAD"].contains(request.method), let page = self.context.configuration.pages[request.path] {
            connection.respond(.page(page, at: request.path))
        } else {
            connection.respond(.refusal(status: Self.notFound.status, Self.notFound.message))
        }
    }

    func refusal(ofHead request: HTTPRequest) -> HTTPRequestError? {
        do throws(HTTPRequestError) { _ = try self.rules.origin(of: request) } catch { return error }
        // A POST is for Engine.IO alone.
        return request.method == "POST" && self.use(ofPath: request.path) == nil ? Self.notFound : nil
    }

    private static let notFound = HTTPRequestError(
        status: 404, message: "Socket.IO is at /socket.io/, WebSockets are at any other path")

    /// The protocol above Engine.IO at a path, with or without its last slash; nil when Engine.IO is not served there.
    private func use(ofPath path: String) -> EngineUse? {
        let path = path.hasSuffix("/") ? path : "\(path)/"
        if path == "/socket.io/" { return .socketIO }
        guard let echo = self.context.configuration.echoPath, path == (echo.hasSuffix("/") ? echo : "\(echo)/") else {
            return nil
        }
        return .echo
    }

    private func serveEngine(
        _ request: HTTPRequest, _ use: EngineUse, on connection: ServerConnection
    ) -> EngineRefusal? {
        let carriers = self.context.configuration.carriers
        let overWebSocket = request.isUpgrade
        switch request.parameter("transport") {
        case "polling" where carriers.contains(.polling) && !overWebSocket: ()
        case "websocket" where carriers.contains(.webSocket) && overWebSocket: ()
        default: return .unknownTransport
        }
        guard request.parameter("EIO") == "4" else { return .unsupportedVersion }
        guard let sid = request.parameter("sid") else { return self.beginEngine(request, use, on: connection) }
        guard let session = self.session(sid), session.use == use else { return .unknownSession }
        if overWebSocket { return session.tryWebSocket(request, on: connection) }
        switch request.method {
        case "GET": return session.poll(on: connection)
        case "POST": return session.post(request.body, on: connection)
        default: return .badRequest
        }
    }

    private func beginEngine(
        _ request: HTTPRequest, _ use: EngineUse, on connection: ServerConnection
    ) -> EngineRefusal? {
        guard request.method == "GET" else { return .badMethod }
        let session = EngineConnection(request, use, self.context) { [weak self] in self?.remove($0) }
        guard self.add(session) else {
            connection.respond(.refusal(status: 503, "there are too many sessions"))
            return nil
        }
        session.begin(on: connection)
        return nil
    }
}
