internal import Linkspan
internal import LinkspanNetwork
internal import LinkspanSocketIO

/// Requests by path: Engine.IO at `/socket.io/` and at the echo's path, the JSON envelope at any other path.
extension ServerRun {
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
        } else if request.isUpgrade {
            EnvelopeConnection(request, run: self).begin(on: connection)
        } else if ["GET", "HEAD"].contains(request.method), let page = self.configuration.pages[request.path] {
            connection.respond(.page(page))
        } else {
            connection.respond(.refusal(status: Self.notFound.status, Self.notFound.message))
        }
    }

    /// Checks the head of a request whose client waits with the body.
    ///
    /// - Returns: the reason to refuse the request, whatever its body; nil when there is none.
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
        guard let echo = self.configuration.echoPath, path == (echo.hasSuffix("/") ? echo : "\(echo)/") else {
            return nil
        }
        return .echo
    }

    private func serveEngine(
        _ request: HTTPRequest, _ use: EngineUse, on connection: ServerConnection
    ) -> EngineRefusal? {
        let carriers = self.configuration.carriers
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
        let session = EngineConnection(request, use, from: connection.address, run: self)
        guard self.add(session) else {
            connection.respond(.refusal(status: 503, "there are too many sessions"))
            return nil
        }
        session.begin(request, on: connection)
        return nil
    }
}

extension HTTPRequest {
    /// The request without its body, for the time that its client is connected.
    var withoutBody: Self {
        var request = self
        request.body = []
        return request
    }

    /// The request as the hub sees it.
    func linkRequest(auth: Payload?, path: String, run: ServerRun) -> LinkRequest? {
        guard let url = run.url(path: path) else { return nil }
        let ofTheProtocol: Set<String> = ["EIO", "transport", "sid", "t", "b64"]
        var credentials = Credentials()
        // In memory of their own: as a slice they would hold the whole message, or POST, that they came in.
        credentials.auth = auth.map { Payload(trustedElements: Array($0.elements)[...]) }
        credentials.headers = self.fields.map { Credentials.Field($0.name, Secret($0.value)) }
        credentials.query = self.query.filter { !ofTheProtocol.contains($0.name) }
            .map { Credentials.Field($0.name, Secret($0.value)) }
        return LinkRequest(url: url, credentials: credentials)
    }
}
