internal import Linkspan
@testable internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import LinkspanRuntime
internal import Testing

@Suite("Layers")
struct LayerTests {
    private let file = """
        # What the chat runs on.
        linkspan:
          transport:
            adapter: socketio
            socketio: { url: "http://127.0.0.1:3000", path: "/file/" }
            websocket: { url: "ws://127.0.0.1:3001" }
            memory: { url: "memory://lobby" }
          connection: { openDeadline: 7, idleTimeout: 0.5, replyTimeout: 3 }
          services:
            enabled: [logging, presence]
            logging: { level: debug }
        """

    // The last one is of the package manifest.
    private let environment = [
        "LINKSPAN_TRANSPORT_SOCKETIO_PATH": "/environment/", "HOME": "/root", "LINKSPAN_TRAITS": "NIO",
    ]
    private let arguments = ["chat", "--linkspan-transport-socketio-path=/arguments/", "--other", "x"]
    private let override = Override(path: "transport.socketio.path", value: "/override/", origin: "--path")

    private func path(_ plan: LoadedPlan) -> String? {
        (plan.plan.transport as? OptionTransport)?.values["path"] as String?
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `defaults hold when no source says anything`() throws {
        let plan = try load("linkspan: { transport: { adapter: socketio, socketio: { url: http://a } } }")
        #expect(self.path(plan) == nil)
        #expect(plan.explain("transport.socketio.path")?.value == "/socket.io/")
        #expect(plan.explain("transport.socketio.path")?.origin == "default")
        #expect(plan.plan.options.openDeadline == .seconds(10))
        #expect(plan.services.isEmpty)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an app's own defaults are the weakest source`() throws {
        let defaults = [
            Override(path: "transport.adapter", value: "memory", origin: "default"),
            Override(path: "transport.memory.url", value: "memory://mine", origin: "default"),
            Override(path: "services.enabled", value: "logging", origin: "default"),
        ]
        let loader = ConfigurationLoader(catalog: .sample())
        let plain = try loader.load(environment: [:], defaults: defaults)
        #expect(plain.plan.url == "memory://mine")
        #expect(plain.services == ["logging"])
        #expect(plain.explain("transport.adapter")?.origin == "default")
        let changed = try withDirectory { files in
            try loader.load(file: try files.write("chat.yaml", self.file), environment: [:], defaults: defaults)
        }
        #expect(changed.adapter == "socketio")
        #expect(changed.explain("transport.adapter")?.hidden.map { $0.value } == ["memory"])
    }

    @Test
    func `a byte-order mark is no part of a text`() throws {
        let text = try FileText(bytes: [0xEF, 0xBB, 0xBF] + Array("# nothing".utf8))
        #expect(text.text == "# nothing" && text.isEmpty)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `null is a text between quotation marks`() throws {
        let plan = try load(
            "linkspan: { transport: { adapter: socketio, socketio: { url: http://a, path: \"null\" } } }")
        #expect(self.path(plan) == "null")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a variable's list may have empty items, and an argument's value an equals sign`() throws {
        let plan = try load(
            self.file, environment: ["LINKSPAN_SERVICES_ENABLED": "logging, ,presence,"],
            arguments: ["--linkspan-transport-socketio-url=http://a/?b=c"])
        #expect(plan.services == ["logging", "presence"])
        #expect(plan.plan.url == "http://a/?b=c")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an outbox is made once one of its options is given`() throws {
        let isMade = Lock(false)
        var catalog = Catalog.sample()
        catalog.add(
            OutboxFactory(options: [PluginOption("rows", .number(1...9), fallback: "5", "The most rows.")]) {
                _ throws(LinkspanError) in
                isMade.withLock { $0 = true }
                throw LinkspanError(.invalidConfiguration, "this one is never made")
            })
        let text = "linkspan: { transport: { adapter: memory, url: memory://a } }"
        _ = try load(text, catalog: catalog)
        #expect(!isMade.withLock { $0 })
        let problem = try failure(text, environment: ["LINKSPAN_OUTBOX_ROWS": "6"], catalog: catalog)
        #expect(problem?.contains("never made") == true)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a service that was added names the source of that as its origin`() throws {
        let plan = try load(self.file, overrides: [Override(path: "services.add", value: "presence", origin: "--add")])
        let origins = plan.plan.services.map(\.settings.origin)
        #expect(origins.count == 2 && origins[1] == "--add" && origins[0] != "--add")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `of two defaults for one key the last one wins`() throws {
        let defaults = ["first", "last"].map {
            Override(path: "transport.memory.url", value: "memory://\($0)", origin: "default")
        }
        let plan = try ConfigurationLoader(catalog: .sample()).load(
            environment: ["LINKSPAN_TRANSPORT_ADAPTER": "memory"], defaults: defaults)
        #expect(plan.plan.url == "memory://last")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an empty variable for a transport's own endpoint leaves the common one`() throws {
        let plan = try load(
            "linkspan: { transport: { adapter: socketio, url: http://common } }",
            environment: ["LINKSPAN_TRANSPORT_SOCKETIO_URL": ""])
        #expect(plan.plan.url == "http://common")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `the alternatives to a secure endpoint are secure`() throws {
        let plan = try load("linkspan: { transport: { adapter: websocket, url: wss://common/chat } }")
        #expect(plan.plan.alternatives.map(\.url) == ["wss://common/chat", "https://common/chat"])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an endpoint that another list hides shows no query, even one that is no URL`() throws {
        let plan = try load(
            """
            linkspan:
              transport: { adapter: memory, url: memory://a }
              connection: { endpoints: ["b?token=s3cret"] }
            """,
            overrides: [Override(path: "connection.endpoints", value: "memory://c", origin: "--endpoints")])
        let hidden = plan.explain("connection.endpoints")?.hidden.map(\.value) ?? []
        #expect(hidden.count == 1 && !hidden.joined().contains("s3cret"))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a file wins over defaults`() throws {
        let plan = try load(self.file)
        #expect(plan.adapter == "socketio")
        #expect(plan.plan.url == "http://127.0.0.1:3000")
        #expect(self.path(plan) == "/file/")
        #expect(plan.plan.options.openDeadline == .seconds(7))
        #expect(plan.plan.options.idleTimeout == .milliseconds(500))
        #expect(plan.plan.options.replyTimeout == .seconds(3))
        #expect(plan.services == ["logging", "presence"])
        #expect((plan.plan.services.first?.service as? OptionService)?.values["level"] == "debug")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `the environment wins over a file`() throws {
        #expect(self.path(try load(self.file, environment: self.environment)) == "/environment/")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `arguments win over the environment`() throws {
        let plan = try load(self.file, environment: self.environment, arguments: self.arguments)
        #expect(self.path(plan) == "/arguments/")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `overrides win over everything, and every loser is known`() throws {
        let plan = try load(
            self.file, environment: self.environment, arguments: self.arguments, overrides: [self.override])
        #expect(self.path(plan) == "/override/")
        let setting = try #require(plan.explain("linkspan.transport.socketio.path"))
        #expect(setting.origin == "--path")
        #expect(setting.hidden.map { $0.value } == ["/arguments/", "/environment/", "/file/"])
        #expect(setting.hidden.last?.origin.hasSuffix("chat.yaml:5") == true)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `of two overrides for one key the last one wins`() throws {
        let plan = try load(
            self.file,
            overrides: [self.override, Override(path: "transport.socketio.path", value: "/last/", origin: "--again")])
        #expect(self.path(plan) == "/last/")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `one flag swaps the transport`() throws {
        let plan = try load(
            self.file, overrides: [Override(path: "transport.adapter", value: "memory", origin: "--transport")])
        #expect(plan.adapter == "memory")
        #expect(plan.plan.url == "memory://lobby")
        #expect((plan.plan.transport as? OptionTransport)?.name == "memory")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `one flag swaps the endpoint, whichever the transport`() throws {
        let url = Override(path: "transport.url", value: "ws://other:1", origin: "--url")
        let plan = try load(self.file, environment: ["LINKSPAN_TRANSPORT_ADAPTER": "websocket"], overrides: [url])
        #expect(plan.plan.url == "ws://other:1")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `in one source, a transport's own endpoint wins over the common one`() throws {
        let plan = try load(
            "linkspan: { transport: { adapter: memory, url: memory://common, memory: { url: memory://own } } }")
        #expect(plan.plan.url == "memory://own")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a plan comes from the environment alone`() throws {
        let plan = try load(environment: [
            "LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_MEMORY_URL": "memory://lobby",
            "LINKSPAN_SERVICES_ENABLED": " presence , logging ", "LINKSPAN_SERVICES_LOGGING_LEVEL": "trace",
            "LINKSPAN_CONNECTION_BUFFER_OVERFLOW": "dropOldest",
        ])
        #expect(plan.services == ["presence", "logging"])
        #expect((plan.plan.services.last?.service as? OptionService)?.values["level"] == "trace")
        #expect(plan.plan.options.buffer.overflow == .dropOldest)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `an empty variable takes nothing away, except from lists`() throws {
        let plan = try load(
            self.file, environment: ["LINKSPAN_TRANSPORT_ADAPTER": "", "LINKSPAN_SERVICES_ENABLED": ""])
        #expect(plan.adapter == "socketio")
        #expect(plan.services.isEmpty)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `lists are replaced, not merged`() throws {
        let plan = try load(self.file, environment: ["LINKSPAN_SERVICES_ENABLED": "presence"])
        #expect(plan.services == ["presence"])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `services are added and removed last, whatever source enabled them`() throws {
        let plan = try load(
            self.file,
            environment: [
                "LINKSPAN_SERVICES_ADD": "outbox,logging", "LINKSPAN_SERVICES_OUTBOX_PATH": "/var/outbox",
                "LINKSPAN_SERVICES_REMOVE": "presence",
            ])
        #expect(plan.services == ["logging", "outbox"])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: [true, false])
    func `a service is switched on and off by configuration alone`(isOn: Bool) throws {
        let change = isOn ? "add" : "remove"
        let text = self.file.replacing("[logging, presence]", with: isOn ? "[presence]" : "[logging, presence]")
        let plan = try load(text, environment: ["LINKSPAN_SERVICES_\(change.uppercased())": "logging"])
        #expect(plan.plan.services.contains { $0.name == "logging" } == isOn)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `YAML and JSON mean the same`() throws {
        let json = """
            {
              "linkspan": {
                "transport": {
                  "adapter": "socketio",
                  "socketio": { "url": "http://127.0.0.1:3000", "path": "/file/" },
                  "websocket": { "url": "ws://127.0.0.1:3001", "pingInterval": 20.0, "compression": true },
                  "memory": { "url": "memory://lobby" }
                },
                "connection": { "openDeadline": 7, "idleTimeout": 0.5, "bufferCommands": null },
                "services": { "enabled": ["logging", "presence"], "logging": { "level": "debug", "families": [] } }
              }
            }
            """
        let yaml = """
            linkspan:
              transport:
                adapter: socketio
                socketio:
                  url: http://127.0.0.1:3000
                  path: '/file/'
                websocket: {url: "ws://127.0.0.1:3001", pingInterval: 20, compression: on}
                memory:
                  url: memory://lobby
              connection:
                openDeadline: "7"
                idleTimeout: 5e-1
                bufferCommands:
              services:
                enabled:
                  - logging
                  - presence
                logging:
                  level: debug
                  families: []
            """
        for adapter in ["socketio", "websocket"] {
            let change = [Override(path: "transport.adapter", value: adapter, origin: "-t")]
            let left = try load(json, as: "chat.json", overrides: change)
            let right = try load(yaml, overrides: change)
            #expect(left.plan.url == right.plan.url)
            #expect(
                (left.plan.transport as? OptionTransport)?.values == (right.plan.transport as? OptionTransport)?.values)
            #expect(left.plan.options.openDeadline == right.plan.options.openDeadline)
            #expect(left.plan.options.idleTimeout == right.plan.options.idleTimeout)
            #expect(
                left.plan.services.map { ($0.service as? OptionService)?.values }
                    == right.plan.services.map { ($0.service as? OptionService)?.values })
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `retry schedules of equal values are equal, so that connections can share them`() throws {
        let text =
            "linkspan: { transport: { adapter: memory, url: memory://a }, connection: { retryCap: %, retryLimit: 3 } }"
        let first = try load(text.replacing("%", with: "9")).plan.options
        let second = try load(text.replacing("%", with: "9.0")).plan.options
        let third = try load(text.replacing("%", with: "8")).plan.options
        #expect(first.retry.description == second.retry.description)
        #expect(first.retry.description != third.retry.description)
        let question = RetryQuestion(
            error: LinkspanError(.connectionLost, "gone"), failures: 4, outage: .seconds(600), random: 0)
        #expect(first.retry.delay(for: question) == nil)
        let timed = try load(text.replacing("%", with: "9, retryTotal: 600")).plan.options.retry
        #expect(timed.delay(for: RetryQuestion(error: question.error, outage: .seconds(599))) != nil)
        #expect(timed.delay(for: RetryQuestion(error: question.error, outage: .seconds(600))) == nil)
        #expect(
            try load("\(text)".replacing("%", with: "9"), environment: ["LINKSPAN_CONNECTION_RETRY": "never"]).plan
                .options.retry.description == RetryPolicy.never.description)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: [
        "", "\n\n", "# nothing\n", "---\n", "--- \n", "--- # nothing\n", "\u{FEFF}",
        "other: { list: [1, 2], text: x }\n",
    ])
    func `a file may be empty, or hold only comments, or belong to others`(text: String) throws {
        let plan = try load(
            text, environment: ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"])
        #expect(plan.adapter == "memory")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: [
        "connection: {}", "connection:", "services: { logging: {}, presence: }", "services: { add: }",
        "connection: { idleTimeout: null }", "transport: { websocket: {}, adapter: ~ }",
    ])
    func `known sections may be empty, and values null`(text: String) throws {
        let plan = try load(
            "linkspan: { \(text) }\n",
            environment: ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"])
        #expect(plan.plan.options.idleTimeout == .seconds(5))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a section may be defined by an anchor and merged elsewhere`() throws {
        let plan = try load(
            """
            common: &common { idleTimeout: 9 }
            linkspan:
              transport: { adapter: memory, url: memory://a }
              connection: *common
            """)
        #expect(plan.plan.options.idleTimeout == .seconds(9))
    }

    @Test
    func `a section's own keys win over those that it merges in`() throws {
        let plan = try load(
            """
            common: &common { idleTimeout: 9, openDeadline: 8, bufferBytes: 7000 }
            other: &other { bufferBytes: 6000, probeInterval: 1.5 }
            linkspan:
              transport: { adapter: memory, url: memory://a }
              connection: { openDeadline: 3, <<: [*common, *other] }
            """)
        #expect(plan.plan.options.idleTimeout == .seconds(9))
        #expect(plan.plan.options.openDeadline == .seconds(3))
        #expect(plan.plan.options.buffer.bytes == 7_000)
        #expect(plan.plan.options.probeInterval == .milliseconds(1_500))
        #expect(plan.explain("connection.idleTimeout")?.origin.hasSuffix("chat.yaml:1") == true)
    }

    @Test
    func `a quoted merge key is a key like any other`() throws {
        let text = """
            common: &common { idleTimeout: 9 }
            linkspan:
              transport: { adapter: memory, url: memory://a }
              connection: { "<<": *common }
            """
        let error = #expect(throws: ConfigurationError.self) { try load(text) }
        #expect(error?.description.contains("unknown option '<<'") == true, "\(String(describing: error))")
    }

    @Test
    func `what stands in place of an adapter's URL is never shown, because it may be a secret`() throws {
        let plan = try load(
            "linkspan: { transport: { adapter: memory, url: memory://a, websocket: { url: hunter2 } } }")
        #expect(plan.explain("transport.websocket.url")?.value == "(unreadable)")
    }

    @Test
    func `JSON may escape characters as two halves, and indent by tabs`() throws {
        let plan = try load(
            #"""
            {
            \#t"other": "\\ud83d \ud83d\ude00",
            \#t"linkspan": { "transport": { "adapter": "socketio", "socketio": {
            \#t\#t"url": "http:\/\/a", "path": "/\uD83D\uDE00\\uD83D\\uDE00/" } } }
            }
            """#, as: "chat.json")
        #expect(self.path(plan) == #"/😀\uD83D\uDE00/"#)
    }

    @Test
    func `a file may begin with a byte order mark`() throws {
        let plan = try load("\u{FEFF}linkspan: { transport: { adapter: memory, memory: { url: memory://a } } }")
        #expect(plan.adapter == "memory")
    }

    @Test
    func `lists of other sections may hold anything`() throws {
        let plan = try load(
            "other: [1, a, { b: c }, [d]]\nlinkspan: { transport: { adapter: memory, url: memory://a } }")
        #expect(plan.adapter == "memory")
    }

    @Test
    func `the default of each key of a connection is the default of the code`() throws {
        for option in ConnectionOptions.declared {
            guard let fallback = option.fallback, !["no limit", "none"].contains(fallback) else { continue }
            let text = "linkspan: { transport: { adapter: memory, url: memory://a }, connection: { \(option.name): "
            let options = try load(text + "\(fallback) } }").plan.options
            #expect("\(options)" == "\(ConnectionOptions())", "\(option.name)")
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `secrets and queries of URLs are never shown`() throws {
        let plan = try load(
            "linkspan: { transport: { adapter: websocket, websocket: { url: 'ws://a/b?token=hidden' } } }",
            environment: ["LINKSPAN_TRANSPORT_WEBSOCKET_TOKEN": "hidden"],
            overrides: [Override(path: "transport.websocket.url", value: "ws://c/d?token=hidden", origin: "--url")])
        let text = plan.settings.map { $0.description }.joined(separator: "\n")
        #expect(!text.contains("hidden\n") && !text.contains("=hidden"))
        #expect(plan.explain("transport.websocket.token")?.value == "(secret)")
        #expect(plan.explain("transport.websocket.url")?.value == "ws://c/d")
        #expect((plan.plan.transport as? OptionTransport)?.values["token"] == "hidden")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `every key can be listed with its variable and flag`() throws {
        let keys = try load("linkspan: { transport: { adapter: memory, url: memory://a } }").settings
        let key = try #require(keys.first { $0.path == "linkspan.transport.websocket.pingInterval" })
        #expect(key.variable == "LINKSPAN_TRANSPORT_WEBSOCKET_PING_INTERVAL")
        #expect(key.flag == "--linkspan-transport-websocket-ping-interval")
        #expect(key.expectation == "seconds (a number from 1 to 600)")
        #expect(keys.contains { $0.variable == "LINKSPAN_CONNECTION_OPEN_DEADLINE" && $0.fallback == "10" })
    }

    @Test(arguments: [("999999999.5", true), ("1e9", false)])
    func `a time is less than thirty years, whatever its key allows`(_ text: String, isAllowed: Bool) {
        let option = PluginOption("pause", .seconds(0...1e12), fallback: "0", "A pause.")
        #expect((option.parse(.text(text)) != nil) == isAllowed)
    }

    @Test(arguments: [
        ("a=1, b = 2", ["a": "1", "b": "2"]), ("a=", ["a": ""]), ("=1", ["": "1"]), ("a=b=c", ["a": "b=c"]), ("a", nil),
    ])
    func `a map in a text has one sign between key and value`(_ text: String, _ entries: [String: String]?) {
        #expect(Layer.splitMap(text) == entries.map { .map($0) })
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a wrong value names the strongest of those that it hides`() throws {
        let told = try failure(
            "linkspan: { transport: { adapter: memory, url: memory://a }, connection: { idleTimeout: 1 } }",
            environment: ["LINKSPAN_CONNECTION_IDLE_TIMEOUT": "2"],
            overrides: [Override(path: "connection.idleTimeout", value: "x", origin: "--idle")])
        #expect(told?.contains("hides 2 in LINKSPAN_CONNECTION_IDLE_TIMEOUT") == true)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `what a plug-in refuses is at the only option that was given, or at the one that it names`() throws {
        var catalog = Catalog.sample()
        let options = ["one", "two"].map { PluginOption($0, .text, fallback: "none", "A text.") }
        catalog.add(
            TransportFactory("odd", schemes: ["ws"], options: options) { values throws(LinkspanError) in
                let why = values["two"] == "named" ? "two is no good" : "it is no good"
                throw LinkspanError(.invalidConfiguration, why)
            })
        for (one, two, line) in [("x", nil, 3), (nil, "x", 4), ("x", "named", 4), ("x", "x", nil)]
            as [(String?, String?, Int?)]
        {
            let told = try failure(
                """
                linkspan:
                  transport: { adapter: odd, url: "ws://a", odd: {
                    \(one.map { "one: \($0)," } ?? "")
                    \(two.map { "two: \($0)" } ?? "")
                  } }
                """, catalog: catalog)
            #expect(told?.contains("no good") == true)
            #expect(told?.contains("chat.yaml:") == (line != nil))
            if let line { #expect(told?.contains("chat.yaml:\(line)") == true) }
        }
    }
}
