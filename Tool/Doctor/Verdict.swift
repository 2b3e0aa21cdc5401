/// The cause of a fault, and what to do about it.
struct Verdict: Error, Encodable, Hashable, Sendable {
    var code: Code
    var cause: String
    var remedy: String
    /// Whether a stage with this verdict works all the same, though not for every client.
    var isWarning = false

    private enum CodingKeys: CodingKey { case code, cause, remedy }

    init(_ code: Code, _ cause: String, isWarning: Bool = false) {
        (self.code, self.cause, self.remedy, self.isWarning) = (code, cause, code.remedy, isWarning)
    }

    /// A kind of fault: its name is part of the JSON, for scripts, and its raw value is the remedy, for the operator of the server.
    ///
    /// So no two kinds have the same remedy.
    enum Code: String, Encodable, Sendable {
        // Name, addresses, proxy.
        case nameNotResolved = "check the spelling of the name and its DNS record"
        case connectionRefused = "start the server, or correct host and port"
        case unreachable = "check that the machine is up, and that no firewall or security group drops the port"
        case deadAddress = "let the server listen there, or remove the DNS record: some clients wait or fail"
        case proxyFailed = """
            check --proxy (with NAME:PASSWORD@ before its host if it wants them), the proxy's rules, and that it reaches the \
            server
            """
        // TLS.
        case certificateExpired = "renew it, and reload the server"
        case certificateNotYetValid = "check the clocks of this machine and of the issuer"
        case certificateWrongName = "connect by a name in its subjectAltName, or issue one that has this host there"
        case certificateSelfSigned = "use one of a public authority, or pass this one by --ca"
        case certificateUntrusted = "use one of a public authority, or pass the authority by --ca"
        case certificateIncomplete = "give the server the full chain (fullchain.pem), or pass the authority by --ca"
        case certificateRejected = "issue one for servers, with a strong key"
        case pinMismatch = "pin the new key in the clients, or give the server a certificate with a pinned key"
        case tlsVersion = "switch TLS 1.2 or 1.3 on in the server"
        case clientCertificateWanted = "switch that off in the server, or give clients one (tls.clientCertificate)"
        case serverNameUnknown = """
            connect by a name that the server has a certificate for, or add this one to it (nginx: server_name)
            """
        case tlsFailed = "check that the port is one of TLS, that the server knows this name (SNI), and its log"
        case plainServer = "use http:// or ws://, or switch TLS on in the server or proxy"
        case tlsRequired = "use https:// or wss://, or a port without TLS"
        // HTTP.
        case noAnswer = "check that the server is not blocked, and that a proxy in front of it reaches it"
        case hungUp = """
            check the log of the server or balancer, whether a server runs behind a balancer, whether the port is one of \
            HTTP and without the PROXY protocol, and with TLS whether it wants a certificate of the client
            """
        case notHTTP = "check the port: a server of another protocol listens there"
        case brokenAnswer = "correct the server, or the proxy that changes its answers (RFC 9112)"
        case proxyProtocol = """
            switch the PROXY protocol off in the balancer (haproxy: send-proxy), or on in the server (nginx: listen … \
            proxy_protocol)
            """
        case http2Only = "switch HTTP/1.1 on in the server or its proxy: WebSockets and this client need it"
        case notFound = """
            check the path (--path for Socket.IO), and the proxy's rule for it (nginx: a path behind the address of \
            proxy_pass, even /, takes the place of the location's)
            """
        case hostRefused = """
            use a name that the server knows, or let the proxy pass Host on (nginx: proxy_set_header Host $http_host)
            """
        case captivePortal = "log in by a browser, or use another network"
        case unauthorized = """
            pass the credentials by --header 'Authorization: Bearer …', or 'Authorization: Basic …' with NAME:PASSWORD in \
            base64
            """
        case forbidden = """
            check the credentials (--header), the allowed origins (--origin), and the rules of proxy and firewall
            """
        case redirected = """
            use the URL that it leads to, since redirects of WebSockets are not followed; if that is a login, pass the \
            credentials (--header), or log in to the network
            """
        case badGateway = """
            start the server behind the proxy, and check the proxy's upstream address, its TLS (nginx: proxy_pass https://…) \
            and its PROXY protocol
            """
        case unavailable = """
            check that the server runs, is not under maintenance, and that the balancer's health checks pass
            """
        case gatewayTimeout = "check that the server is not blocked, and raise the proxy's read timeout"
        case serverError = "look into the server's log for the reason"
        case refused = "look into the server's log for the reason that it refuses"
        case rateLimited = """
            wait, and let clients try again less often, or raise the limit of the server or its proxy
            """
        case connectionLimit = """
            raise the number of connections at once (haproxy: maxconn), or give the server more workers, or asynchronous \
            ones (gunicorn: --threads)
            """
        case headerTooLarge = "shorten tokens and cookies, or raise the limit (nginx: large_client_header_buffers)"
        case notSocketIO = """
            check host, port and --path; behind a proxy give the path a rule of its own before that of web pages (nginx: \
            location /socket.io/); a page of a login is that of a network or a single sign-on
            """
        case notWebSocket = """
            check the path, and that the proxy passes the headers Upgrade and Connection on; a page of a login is that of a \
            network or a single sign-on; a server of Socket.IO has http:// or https:// in its URL
            """
        case oldProtocol = "upgrade the server to Socket.IO 3 or newer, or let clients speak protocol v2"
        case queryLost = "let the proxy pass the query of the URL on (nginx: $request_uri, or $uri$is_args$args)"
        case originRefused = """
            add the origin to the server's allowed ones (cors), and let a proxy pass Host on; --origin tries another one
            """
        case corsMissing = """
            add the origin to the server's allowed ones (cors), so that its answers name it; --origin tries another one
            """
        // The upgrade, and what follows it.
        case upgradeStripped = """
            let the proxy pass Upgrade and Connection on (nginx: proxy_http_version 1.1; proxy_set_header Upgrade \
            $http_upgrade; proxy_set_header Connection "upgrade"); without a proxy, run the server where WebSockets work \
            (uvicorn needs the package websockets)
            """
        case cached = "exclude the path of Socket.IO from the proxy's cache (nginx: proxy_cache off)"
        case pollingOnly = "add websocket to the server's transports, or let clients use polling alone"
        case badHandshake = "correct the server's handshake (RFC 6455 section 4.2.2), or the proxy that changes it"
        case subprotocolMissing = "offer one that the server knows by --subprotocol"
        case closedAfterUpgrade = """
            look into the log of the server, and of a proxy that took the upgrade in its place
            """
        case brokenFrames = "correct the server, or the proxy that changes what it sends (RFC 6455 section 5)"
        case noOpen = "check that the server behind this path is Socket.IO and not blocked"
        case badOpen = "correct the server, or the proxy that changes its answers"
        case upgradeSilent = """
            switch buffering off in the proxy (nginx: proxy_buffering off), and check that it passes WebSockets on
            """
        case pollingSilent = """
            switch buffering off in the proxy (nginx: proxy_buffering off), and check that it passes long polling on
            """
        case namespaceRefused = "correct the namespace, which is the URL's path, or add it to the server"
        case authRefused = #"pass the right credentials by --auth '{"token":"…"}', --header or the URL's query"#
        case namespaceSilent = "check that the server's connect handler and middleware return"
        case disconnected = """
            look into the server's connection handler, which does so to clients that it does not accept; pass the right \
            credentials by --auth '{"token":"…"}'
            """
        case messageLimit = """
            raise maxHttpBufferSize and the proxy's limit, or pass what the app needs by --message-size; where large packets \
            are lost, as in a tunnel, lower its MTU
            """
        case sessionsSplit = """
            let the balancer keep a session on one server (nginx: ip_hash; haproxy: cookie), or let clients use WebSockets \
            alone
            """
        case switchFailed = "let the balancer send a session's WebSocket to the server of its polling"
        case noPings = "check that the server's event loop is not blocked and that the proxy does not buffer"
        case pingsTooRare = "lower the server's pingInterval; 25 s is usual"
        case pingTimeoutTooShort = "raise the server's pingTimeout above the slowest path; 20 s is usual"
        case noPong = """
            check that the server reads from its sockets and is not blocked, and that the proxy passes control frames on
            """
        case idleCut = """
            raise the proxy's idle timeout above the interval of pings (nginx: proxy_read_timeout; haproxy: timeout \
            tunnel), or let the server ping more often
            """
        case lifetimeCut = """
            raise the proxy's or balancer's limit for the age of a connection, or look for what restarts them
            """
        case closedByServer = """
            look up code and reason in the server's documentation: it may expect a message first
            """
        case invalidFlags = """
            correct the flag that this is about (--header, --ca, --subprotocol, --proxy), or the URL
            """
        /// `--timeout` is over.
        case timeUp = "give more time by --timeout"

        /// What to do.
        var remedy: String { self.rawValue }

        /// The name, as in the JSON.
        var name: String { "\(self)" }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(self.name)
        }
    }
}
