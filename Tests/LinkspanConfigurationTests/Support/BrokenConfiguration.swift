internal import LinkspanConfiguration
internal import Testing

/// A configuration with one mistake, and what is said about it.
struct BrokenConfiguration: Sendable, CustomTestStringConvertible {
    var mistake: String
    var file: String?
    var name = "chat.yaml"
    var environment: [String: String] = [:]
    var arguments: [String] = []
    var overrides: [Override] = []
    /// What follows the words that all messages begin with.
    var says: String

    var expected: String { "1 problem in configuration, nothing was started: \(self.says)" }
    var testDescription: String { self.mistake }

    /// A file that is right, with something put in.
    static func good(_ lines: String) -> String {
        "linkspan:\n  transport:\n    adapter: memory\n    memory: { url: memory://a }\n\(lines)\n"
    }

    static let all: [BrokenConfiguration] = Self.names + Self.values + Self.gaps + Self.places + Self.files
}

extension BrokenConfiguration {
    private static let names = [
        Self(
            mistake: "unknown transport from a flag", file: Self.good(""),
            overrides: [Override(path: "transport.adapter", value: "sockeio", origin: "--transport")],
            says: "linkspan.transport.adapter  unknown transport 'sockeio' (did you mean 'socketio'? "
                + "known: memory, socketio, websocket)  from --transport; hides memory in chat.yaml:3"),
        Self(
            mistake: "unknown transport, nothing near", file: "linkspan: { transport: { adapter: carrierpigeon } }",
            says: "linkspan.transport.adapter  unknown transport 'carrierpigeon' "
                + "(known: memory, socketio, websocket)  from chat.yaml:1"),
        Self(
            mistake: "unknown service in a file", file: Self.good("  services:\n    enabled: [logging, metrics]"),
            says: "linkspan.services.enabled[1]  unknown service 'metrics' (known: logging, outbox, presence)"
                + "  from chat.yaml:6"),
        Self(
            mistake: "unknown service to remove", file: Self.good(""),
            environment: ["LINKSPAN_SERVICES_REMOVE": "loging"],
            says: "linkspan.services.remove[0]  unknown service 'loging' (did you mean 'logging'? "
                + "known: logging, outbox, presence)  from LINKSPAN_SERVICES_REMOVE"),
        Self(
            mistake: "unknown option of a transport", file: Self.good("    socketio: { pths: /x/ }"),
            says: "linkspan.transport.socketio.pths  unknown option 'pths' (did you mean 'path'? known: path, url)"
                + "  from chat.yaml:5"),
        Self(
            mistake: "unknown option of the connection",
            file: Self.good("  connection:\n    opendeadline: 3"),
            says: "linkspan.connection.opendeadline  unknown option 'opendeadline' (did you mean 'openDeadline'? "
                + "known: bufferBytes, bufferCommands, bufferFailsFast, bufferMaxAge, bufferOverflow, dataSaving, "
                + "deliveryAttempts, deliveryBytes, deliveryCommands, deliveryKey, deliveryKeyField, deliveryRepeatAfter, deliveryWaitsAfterFailure, endpointReturnAfter, endpoints, endpointsShuffled, "
                + "idleTimeout, keeperRules, openDeadline, probeEvent, probeInterval, replyTimeout, retry, retryAfterCap, retryCap, retryEarlyCap, "
                + "retryEarlyPeriod, retryFirstSpread, retryInitial, retryLimit, retryTotal, slowListener)  from chat.yaml:6"
        ),
        Self(
            mistake: "unknown section of a transport, told once",
            file: Self.good("    webscket:\n      url: ws://a\n      pingInterval: 3"),
            says: "linkspan.transport.webscket  unknown transport or key 'webscket' (did you mean 'websocket'? "
                + "known: adapter, memory, socketio, url, websocket)  from chat.yaml:5"),
        Self(
            mistake: "unknown section", file: Self.good("  conection: { idleTimeout: 1 }"),
            says: "linkspan.conection  unknown section 'conection' (did you mean 'connection'? "
                + "known: connection, services, transport)  from chat.yaml:5"),
        Self(
            mistake: "unknown section with nothing in it", file: Self.good("  conection: {}"),
            says: "linkspan.conection  unknown section 'conection' (did you mean 'connection'? "
                + "known: connection, services, transport)  from chat.yaml:5"),
        Self(
            mistake: "unknown service with nothing in its section",
            file: Self.good("  services:\n    enabled: [presence]\n    presense:"),
            says: "linkspan.services.presense  unknown service or key 'presense' (did you mean 'presence'? "
                + "known: add, enabled, logging, outbox, presence, remove)  from chat.yaml:7"),
        Self(
            mistake: "unknown key without a value in JSON",
            file: "{\"linkspan\": {\"transport\": {\"adapter\": \"memory\", \"url\": \"memory://a\"},\n"
                + "\"connection\": {\"idleTimout\": null}}}",
            name: "chat.json",
            says: "linkspan.connection.idleTimout  unknown option 'idleTimout' (did you mean 'idleTimeout'? "
                + "known: bufferBytes, bufferCommands, bufferFailsFast, bufferMaxAge, bufferOverflow, dataSaving, "
                + "deliveryAttempts, deliveryBytes, deliveryCommands, deliveryKey, deliveryKeyField, deliveryRepeatAfter, deliveryWaitsAfterFailure, endpointReturnAfter, endpoints, endpointsShuffled, "
                + "idleTimeout, keeperRules, openDeadline, probeEvent, probeInterval, replyTimeout, retry, retryAfterCap, retryCap, retryEarlyCap, "
                + "retryEarlyPeriod, retryFirstSpread, retryInitial, retryLimit, retryTotal, slowListener)  from chat.json:2"
        ),
        Self(
            mistake: "misspelt root", file: Self.good("") + "linkspam: { connection: { idleTimeout: 1 } }",
            says: "linkspam  unknown section (did you mean 'linkspan'?)  from chat.yaml:6"),
        Self(
            mistake: "sections outside the root",
            file: "services: { enabled: [presence] }\nlogger: {}",
            environment: ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"],
            says: "services  has no effect here: it belongs into a section 'linkspan'  from chat.yaml:1"),
        Self(
            mistake: "unknown variable", file: Self.good(""), environment: ["LINKSPAN_TRANSPORT_ADAPTOR": "memory"],
            says: "linkspan  unknown environment variable 'LINKSPAN_TRANSPORT_ADAPTOR' "
                + "(did you mean 'LINKSPAN_TRANSPORT_ADAPTER'?)"),
        Self(
            mistake: "unknown variable, nothing near", file: Self.good(""), environment: ["LINKSPAN_COLOUR": "red"],
            says: "linkspan  unknown environment variable 'LINKSPAN_COLOUR'"),
        Self(
            mistake: "unknown argument", file: Self.good(""), arguments: ["--linkspan-transport-adaptr=memory"],
            says: "linkspan  unknown argument '--linkspan-transport-adaptr' "
                + "(did you mean '--linkspan-transport-adapter'?)"),
        Self(
            mistake: "unknown path of an override", file: Self.good(""),
            overrides: [Override(path: "transport.adaptor", value: "memory", origin: "--transport")],
            says: "linkspan.transport.adaptor  unknown transport or key 'adaptor' (did you mean 'adapter'? "
                + "known: adapter, memory, socketio, url, websocket)  from --transport"),
        Self(
            mistake: "control characters in a name", file: Self.good(""),
            overrides: [Override(path: "transport.adapter", value: "a\nb\u{1B}[2J", origin: "-t")],
            says: "linkspan.transport.adapter  unknown transport 'a\\u{a}b\\u{1b}[2J' "
                + "(known: memory, socketio, websocket)  from -t; hides memory in chat.yaml:3"),
    ]

    private static let values = [
        Self(
            mistake: "text for a time, hiding a right one", file: Self.good("  connection: { idleTimeout: 300 }"),
            environment: ["LINKSPAN_CONNECTION_IDLE_TIMEOUT": "abc"],
            says: "linkspan.connection.idleTimeout  expected seconds (a number from 0 to 86400), found \"abc\""
                + "  from LINKSPAN_CONNECTION_IDLE_TIMEOUT; hides 300 in chat.yaml:5"),
        Self(
            mistake: "no number at all", file: Self.good("  connection: { idleTimeout: nan }"),
            says: "linkspan.connection.idleTimeout  expected seconds (a number from 0 to 86400), found \"nan\""
                + "  from chat.yaml:5"),
        Self(
            mistake: "number out of range", file: Self.good("  connection:\n    bufferCommands: 0"),
            says: "linkspan.connection.bufferCommands  expected a whole number from 1 to 10000000, found \"0\""
                + "  from chat.yaml:6"),
        Self(
            mistake: "number beyond all bounds",
            file: Self.good("  connection:\n    bufferBytes: 99999999999999999999"),
            says: "linkspan.connection.bufferBytes  expected a whole number from 1 to 1099511627776, "
                + "found \"99999999999999999999\"  from chat.yaml:6"),
        Self(
            mistake: "fraction for a whole number", file: Self.good("  connection: { bufferCommands: 1.5 }"),
            says: "linkspan.connection.bufferCommands  expected a whole number from 1 to 10000000, found \"1.5\""
                + "  from chat.yaml:5"),
        Self(
            mistake: "unknown choice", file: Self.good("  connection: { bufferOverflow: dropoldest }"),
            says: "linkspan.connection.bufferOverflow  expected one of refuse, dropOldest, dropNewest, "
                + "found \"dropoldest\" (did you mean 'dropOldest'?)  from chat.yaml:5"),
        Self(
            mistake: "text for a flag", file: Self.good("    websocket: { compression: maybe }"),
            says: "linkspan.transport.websocket.compression  expected true or false, found \"maybe\""
                + "  from chat.yaml:5"),
        Self(
            mistake: "text for a list", file: Self.good("  services: { enabled: logging }"),
            says: "linkspan.services.enabled  expected a list, found \"logging\"  from chat.yaml:5"),
        Self(
            mistake: "list for a text", file: Self.good("    socketio: { path: [a, b] }"),
            says: "linkspan.transport.socketio.path  expected text, found a list  from chat.yaml:5"),
        Self(
            mistake: "section for a value", file: Self.good("    socketio: { path: { a: b } }"),
            says: "linkspan.transport.socketio.path  expected text, found a section  from chat.yaml:5"),
        Self(
            mistake: "value for a section", file: Self.good("  services: logging"),
            says: "linkspan.services  expected a section (known: add, enabled, logging, outbox, presence, remove), "
                + "found a value  from chat.yaml:5"),
        Self(
            mistake: "argument without a value", file: Self.good(""), arguments: ["--linkspan-services-enabled", "x"],
            says: "linkspan.services.enabled  expected a value as in --linkspan-services-enabled=…"
                + "  from --linkspan-services-enabled"),
        Self(
            mistake: "argument given twice", file: Self.good(""),
            arguments: ["--linkspan-services-enabled=logging", "--linkspan-services-enabled=presence"],
            says: "linkspan.services.enabled  given twice  from --linkspan-services-enabled"),
        Self(
            mistake: "service listed twice", file: Self.good("  services: { enabled: [logging, presence, logging] }"),
            says: "linkspan.services.enabled[2]  service 'logging' is listed twice  from chat.yaml:5"),
        Self(
            mistake: "secret in a file", file: Self.good("    websocket:\n      token: s3cr3t"),
            says: "linkspan.transport.websocket.token  is a secret and must not stand in a file; "
                + "give it by an environment variable  from chat.yaml:6"),
        Self(
            mistake: "secret on the command line", file: Self.good(""),
            arguments: ["--linkspan-transport-websocket-token=s3cr3t"],
            says: "linkspan.transport.websocket.token  is a secret and must not stand on a command line, "
                + "which other users can read; give it by an environment variable"
                + "  from --linkspan-transport-websocket-token"),
        Self(
            mistake: "secret from a flag of the app", file: Self.good(""),
            overrides: [Override(path: "transport.websocket.token", value: "s3cr3t", origin: "--token")],
            says: "linkspan.transport.websocket.token  is a secret and must not stand on a command line, "
                + "which other users can read; give it by an environment variable  from --token"),
        Self(
            mistake: "options that the service refuses",
            file: Self.good("  services:\n    enabled: [outbox]\n    outbox: { path: here }"),
            says: "linkspan.services.outbox  the path must begin with a slash  from chat.yaml:7"),
        Self(
            mistake: "a URL with a token where a list is wanted",
            file: Self.good("  connection: { endpoints: \"wss://a/?token=s3cr3t\" }"),
            says: "linkspan.connection.endpoints  expected a list, found \"wss://a/\"  from chat.yaml:5"),
        Self(
            mistake: "a login where a number is wanted",
            file: Self.good("  connection: { bufferCommands: \"ann:s3cr3t@proxy\" }"),
            says: "linkspan.connection.bufferCommands  expected a whole number from 1 to 10000000, "
                + "found \"(unreadable)\"  from chat.yaml:5"),
    ]

    private static let gaps = [
        Self(
            mistake: "no transport", file: "linkspan: { transport: { memory: { url: memory://a } } }",
            says: "linkspan.transport.adapter  is missing: expected one of memory, socketio, websocket"),
        Self(
            mistake: "no source at all",
            says: "linkspan.transport.adapter  is missing: expected one of memory, "
                + "socketio, websocket"),
        Self(
            mistake: "no endpoint", file: Self.good(""), environment: ["LINKSPAN_TRANSPORT_ADAPTER": "socketio"],
            says: "linkspan.transport.socketio.url  is missing: expected a URL beginning with http:// or https://"),
        Self(
            mistake: "endpoint of another transport", file: Self.good("    url: ws://a?token=s3cr3t"),
            environment: ["LINKSPAN_TRANSPORT_ADAPTER": "socketio"],
            says: "linkspan.transport.url  expected a URL beginning with http:// or https:// for transport 'socketio', "
                + "found \"ws://a/\"  from chat.yaml:5"),
        Self(
            mistake: "endpoint that is no URL", file: Self.good(""),
            overrides: [Override(path: "transport.url", value: "user:s3cr3t@host", origin: "--url")],
            says: "linkspan.transport.url  expected a URL beginning with memory://; the URL cannot be used: "
                + "it does not begin with scheme://  from --url"),
        Self(
            mistake: "endpoint that is a list", file: "linkspan: { transport: { adapter: memory, url: [a] } }",
            says: "linkspan.transport.url  expected text, found a list  from chat.yaml:1"),
        Self(
            mistake: "option that must be given", file: Self.good("  services: { enabled: [outbox] }"),
            says: "linkspan.services.outbox.path  is missing: expected text"),
    ]

    private static let places = [
        Self(
            mistake: "unknown option of a service",
            file: Self.good("  services:\n    presence: { awayafter: 3 }"),
            says: "linkspan.services.presence.awayafter  unknown option 'awayafter' (did you mean 'awayAfter'? "
                + "known: after, awayAfter, handleLimit, importance, priority)  from chat.yaml:6"),
        Self(
            mistake: "unknown importance",
            file: Self.good("  services:\n    presence: { importance: requird }"),
            says: "linkspan.services.presence.importance  expected one of required, optional, "
                + "found \"requird\" (did you mean 'required'?)  from chat.yaml:6"),
        Self(
            mistake: "limit of a service out of range",
            file: Self.good("  services:\n    presence: { handleLimit: 1 }"),
            environment: ["LINKSPAN_SERVICES_PRESENCE_HANDLE_LIMIT": "0"],
            says: "linkspan.services.presence.handleLimit  expected seconds (a number from 0.001 to 3600), "
                + "found \"0\"  from LINKSPAN_SERVICES_PRESENCE_HANDLE_LIMIT; hides 1 in chat.yaml:6"),
        Self(
            mistake: "start after an unknown service",
            file: Self.good("  services:\n    enabled: [logging, presence]\n    presence:\n      after: [loging]"),
            says: "linkspan.services.presence.after[0]  unknown service 'loging' (did you mean 'logging'? "
                + "known: logging, outbox, presence)  from chat.yaml:8"),
        Self(
            mistake: "start after a service that is not enabled",
            file: Self.good(
                "  services:\n    enabled: [logging, presence]\n    presence: { after: [logging, outbox] }"),
            says: "linkspan.services.presence.after[1]  service 'outbox' is not enabled (enabled: logging)"
                + "  from chat.yaml:7"),
        Self(
            mistake: "start after itself",
            file: Self.good("  services:\n    enabled: [presence]\n    presence: { after: [presence] }"),
            says: "linkspan.services.presence.after[0]  service 'presence' cannot start after itself"
                + "  from chat.yaml:7"),
        Self(
            mistake: "services that wait for each other",
            file: Self.good("  services:\n    enabled: [logging, presence]\n    presence: { after: [logging] }"),
            environment: ["LINKSPAN_SERVICES_LOGGING_AFTER": "presence"],
            says: "linkspan.services.logging.after  dependency cycle logging -> presence -> logging"
                + "  from LINKSPAN_SERVICES_LOGGING_AFTER"),
    ]

    private static let files = [
        Self(
            mistake: "nested too deeply", file: "linkspan: " + String(repeating: "[", count: 70),
            says: "chat.yaml  cannot be read: it is nested too deeply"),
        Self(
            mistake: "JSON that is nested too deeply", file: String(repeating: "{\"a\":", count: 70), name: "chat.json",
            says: "chat.json  cannot be read: it is nested too deeply"),
        Self(
            mistake: "too many aliases",
            file: "a: &a x\n" + (0..<11).map { "b\($0): *a" }.joined(separator: "\n"),
            says: "chat.yaml  cannot be read: it has more than 10 aliases"),
        Self(
            mistake: "aliases behind tabs, each of which doubles what is merged",
            file: "x0: &x0 {a: 1}\n"
                + (1...12).map { "x\($0): &x\($0) {<<: [\t*x\($0 - 1),\t*x\($0 - 1)]}" }.joined(separator: "\n")
                + "\nlinkspan: {<<:\t*x12}\n",
            says: "chat.yaml  cannot be read: it has more than 10 aliases"),
        Self(
            mistake: "file that is no text", file: "linkspan: \u{0}\n",
            says: "chat.yaml  cannot be read: it is not UTF-8 text"),
        Self(
            mistake: "bracket not closed", file: "linkspan:\n  services:\n    enabled: [a, b\n  connection: {}\n",
            says: "chat.yaml:4:13  while parsing a flow sequence in line 3, column 14, "
                + "did not find expected ',' or ']'"),
        Self(
            mistake: "tab for indentation", file: "linkspan:\n\ttransport: {}\n",
            says: "chat.yaml:2:1  while scanning for the next token in line 2, column 1, "
                + "found character that cannot start any token"),
        Self(
            mistake: "comma missing in JSON", file: "{\n  \"linkspan\": {\n    \"a\": 1\n    \"b\": 2\n  }\n}\n",
            name: "chat.json",
            says: "chat.json:4:8  while parsing a flow mapping in line 2, column 15, did not find expected ',' or '}'"),
        Self(
            mistake: "JSON that ends too early", file: "{\n  \"linkspan\": {\n", name: "chat.json",
            says: "chat.json:3:1  while parsing a flow node in line 3, column 1, did not find expected node content"),
        Self(
            mistake: "list at the top", file: "- linkspan\n",
            says: "chat.yaml  expected a section 'linkspan' at the top, found a list or a value"),
        Self(
            mistake: "text at the top that begins with dashes", file: "---x\n",
            says: "chat.yaml  expected a section 'linkspan' at the top, found a list or a value"),
        Self(
            mistake: "list at the top of JSON", file: "[1]", name: "chat.json",
            says: "chat.json  expected a section 'linkspan' at the top, found a list or a value"),
        Self(
            mistake: "value for the root", file: "linkspan: memory\n",
            environment: ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"],
            says:
                "linkspan  expected a section (known: connection, services, transport), found a value  from chat.yaml:1"
        ),
        Self(
            mistake: "list of sections", file: Self.good("  services:\n    enabled: [{ logging: on }]"),
            says: "linkspan.services.enabled[0]  expected text, found a section  from chat.yaml:6"),
        Self(
            mistake: "list of sections in JSON", file: "{\"linkspan\": {\"services\": {\"enabled\": [{\"a\": 1}]}}}",
            name: "chat.json",
            environment: ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"],
            says: "linkspan.services.enabled[0]  expected text, found a section  from chat.json:1"),
        Self(
            mistake: "key given twice", file: Self.good("  services: { enabled: [] }\n  services: { add: [] }"),
            says: "chat.yaml:5:3  given twice in one section: 'services'"),
        Self(
            mistake: "key given twice in JSON",
            file: "{\"linkspan\": {\"transport\": {\"url\": \"memory://a\", \"adapter\": \"memory\",\n"
                + "\"adapter\": \"socketio\", \"socketio\": {\"url\": \"http://a\"},\n"
                + "\"memory\": {\"url\": \"memory://a\"}}}}",
            name: "chat.json", says: "chat.json:1:50  given twice in one section: 'adapter'"),
        Self(
            mistake: "nested and dotted spelling at once", file: Self.good("linkspan.transport.adapter: memory"),
            says: "linkspan.transport.adapter  given twice, in lines 3 and 5  from chat.yaml:5"),
        Self(
            mistake: "file of another kind", file: "linkspan = 1\n", name: "chat.toml",
            says: "chat.toml  cannot be read: its name does not end in .yaml, .yml or .json"),
        Self(
            mistake: "undefined alias", file: "linkspan: *other\n",
            says: "chat.yaml:1:11  found undefined alias"),
        Self(
            mistake: "two documents", file: "linkspan: {}\n---\nlinkspan: {}\n",
            says:
                "chat.yaml:2:1  expected a single document in the stream in line 1, column 1, but found another document"
        ),
    ]
}
