internal import Foundation
internal import Linkspan
internal import LinkspanConfiguration
internal import LinkspanLifecycle
internal import LinkspanMessaging
internal import Testing

@Suite("Broken configurations")
struct BrokenConfigurationTests {
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: BrokenConfiguration.all)
    func `every mistake has its line`(broken: BrokenConfiguration) throws {
        let text = try failure(
            broken.file, as: broken.name, environment: broken.environment, arguments: broken.arguments,
            overrides: broken.overrides)
        #expect(text == broken.expected)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `several mistakes are reported at once, the file's first`() throws {
        let text = try failure(
            """
            linkspan:
              transport:
                adapter: websocket
                websocket:
                  url: "ws://127.0.0.1:3001"
                  pingIntervall: 20
              services:
                enabled: [logging]
                presence:
                  awayAfter: 300
            """,
            environment: [
                "LINKSPAN_SERVICES_ENABLED": "logging,presense", "LINKSPAN_SERVICES_PRESENCE_AWAY_AFTER": "abc",
            ])
        #expect(
            text == """
                3 problems in configuration, nothing was started:
                 linkspan.transport.websocket.pingIntervall  unknown option 'pingIntervall' (did you mean 'pingInterval'? known: compression, pingInterval, token, url)  from chat.yaml:6
                 linkspan.services.presence.awayAfter  expected seconds (a number from 1 to 86400), found "abc"  from LINKSPAN_SERVICES_PRESENCE_AWAY_AFTER; hides 300 in chat.yaml:10
                 linkspan.services.enabled[1]  unknown service 'presense' (did you mean 'presence'? known: logging, outbox, presence)  from LINKSPAN_SERVICES_ENABLED; hides [logging] in chat.yaml:8
                """)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a key that is no text is a mistake`() throws {
        let text = try #require(try failure("linkspan:\n  ? [transport]\n  : memory\n  conection: {}\n"))
        #expect(text.contains("keys must be texts") && text.contains("chat.yaml:2"), "\(text)")
        #expect(text.contains("unknown section 'conection'"), "\(text)")
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `of many mistakes a hundred are shown, and the number of the others`() throws {
        let names = (0..<1_000).map { "w\($0): 1" }.joined(separator: ",")
        let text = try #require(try failure("linkspan: {connection: {\(names)}}"))
        let lines = text.split(separator: "\n")
        #expect(lines.first?.hasPrefix("100") == true)
        #expect(lines.count == 102)
        let others = try #require(lines.last?.firstMatch(of: /^ and (\d+) more$/).flatMap { Int($0.1) })
        #expect(others >= 900)
    }

    @Test
    func `each wrong variable and argument is reported, and each right one is read`() throws {
        let text = try failure(
            environment: ["LINKSPAN_COLOUR": "red", "LINKSPAN_SIZE": "1", "LINKSPAN_TRANSPORT_URL": "memory://a"],
            arguments: [
                "--linkspan-colour=red", "--linkspan-services-add", "--linkspan-services-remove=logging",
                "--linkspan-services-remove=logging", "--linkspan-transport-adapter=memory",
            ])
        #expect(
            text == """
                5 problems in configuration, nothing was started:
                 linkspan  unknown environment variable 'LINKSPAN_COLOUR'
                 linkspan  unknown environment variable 'LINKSPAN_SIZE'
                 linkspan  unknown argument '--linkspan-colour'
                 linkspan.services.add  expected a value as in --linkspan-services-add=…  from --linkspan-services-add
                 linkspan.services.remove  given twice  from --linkspan-services-remove
                """)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: ["\n", "\r\n", "\r"])
    func `a file is read whatever its line ends are`(end: String) throws {
        let lines = ["# A comment first.", "linkspan:", "  connection:", "    wrong: 1"]
        #expect(try failure(lines.joined(separator: end))?.contains("connection.wrong") == true)
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a missing file is one clear line`() {
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationLoader(catalog: .sample()).load(file: "/nowhere/chat.yaml", environment: [:])
        }
        #expect(
            error?.description
                == "1 problem in configuration, nothing was started: /nowhere/chat.yaml  cannot be read: No such file or directory"
        )
    }

    @Test
    func `of a long path three hundred characters are shown`() {
        let path = String(repeating: "/nowhere", count: 40)
        let error = #expect(throws: ConfigurationError.self) {
            try ConfigurationLoader(catalog: .sample()).load(file: "\(path)/chat.yaml", environment: [:])
        }
        #expect(error?.problems.map { $0.path } == ["\(path.prefix(300))…"])
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a directory is no file`() throws {
        try withDirectory { files in
            let error = #expect(throws: ConfigurationError.self) {
                try ConfigurationLoader(catalog: .sample()).load(file: files.directory.path, environment: [:])
            }
            #expect(
                error?.problems.map { $0.message } == ["cannot be read: it is a directory, not a regular file"])
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(.timeLimit(.minutes(1)))
    func `a FIFO or a device is refused at once, without a writer and without end`() throws {
        try withDirectory { files in
            let fifo = files.directory.appendingPathComponent("chat.yaml").path
            try #require(mkfifo(fifo, 0o600) == 0)
            for (path, kind) in [(fifo, "FIFO"), ("/dev/zero", "device")] {
                let error = #expect(throws: ConfigurationError.self) {
                    try ConfigurationLoader(catalog: .sample()).load(file: path, environment: [:])
                }
                #expect(
                    error?.problems.map { $0.message } == ["cannot be read: it is a \(kind), not a regular file"])
                #expect(error?.problems.map { $0.code } == [.unreadableFile])
            }
        }
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `two options with the same spelling are refused`() throws {
        var catalog = Catalog.sample()
        catalog.add(
            TransportFactory(
                "custom", schemes: ["custom"],
                options: [
                    PluginOption("pingInterval", .text, fallback: "", "One."),
                    PluginOption("ping_interval", .text, fallback: "", "Two."),
                ]
            ) { OptionTransport(name: "custom", values: $0) })
        let given = ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"]
        #expect(
            try failure(environment: given, catalog: catalog)
                == "1 problem in configuration, nothing was started: linkspan.transport.custom.ping_interval  cannot be told from 'linkspan.transport.custom.pingInterval': both are spelt LINKSPAN_TRANSPORT_CUSTOM_PING_INTERVAL  from the catalog"
        )
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a service cannot declare an option that every service has`() throws {
        var catalog = Catalog.sample()
        let option = PluginOption("priority", .number(1...3), fallback: "1", "How urgent.")
        catalog.add(ServiceFactory("urgent", options: [option]) { OptionService(name: "urgent", values: $0) })
        let given = ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"]
        #expect(
            try failure(environment: given, catalog: catalog)
                == "1 problem in configuration, nothing was started: linkspan.services.urgent.priority  the name is reserved for an option of every service  from the catalog"
        )
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `a need that only code declares is a problem of the list of services`() throws {
        var catalog = Catalog.sample()
        catalog.add(ServiceFactory("typing") { PlacedService(name: "typing", placement: .needing("presence"), $0) })
        let given = [
            "LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a",
            "LINKSPAN_SERVICES_ENABLED": "typing",
        ]
        #expect(
            try failure(environment: given, catalog: catalog)
                == "1 problem in configuration, nothing was started: linkspan.services.enabled  services.typing.needs: 'presence' is not registered  from LINKSPAN_SERVICES_ENABLED"
        )
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test(arguments: [
        ("My-Transport", "a transport cannot be called 'My-Transport': names are lower case letters and digits"),
        ("url", "a transport cannot be called 'url': the key has another meaning"),
        ("", "a transport cannot be called '': names are lower case letters and digits"),
    ])
    func `plug-ins cannot take names that break keys`(name: String, message: String) throws {
        var catalog = Catalog.sample()
        catalog.add(TransportFactory(name, schemes: []) { OptionTransport(name: "x", values: $0) })
        let given = ["LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a"]
        let text = try #require(try failure(environment: given, catalog: catalog))
        #expect(text.contains(message))
    }

    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    @Test
    func `nothing is made twice, and nothing is made of broken options`() throws {
        var catalog = Catalog.sample()
        catalog.add(
            ServiceFactory("fragile", options: [PluginOption("size", .number(1...9), fallback: "1", "A size.")]) {
                _ throws(LinkspanError) -> OptionService in
                throw LinkspanError(.invalidConfiguration, "must not be asked")
            })
        let text = try failure(
            environment: [
                "LINKSPAN_TRANSPORT_ADAPTER": "memory", "LINKSPAN_TRANSPORT_URL": "memory://a",
                "LINKSPAN_SERVICES_ENABLED": "fragile", "LINKSPAN_SERVICES_FRAGILE_SIZE": "10",
            ], catalog: catalog)
        #expect(
            text
                == "1 problem in configuration, nothing was started: linkspan.services.fragile.size  expected a whole number from 1 to 9, found \"10\"  from LINKSPAN_SERVICES_FRAGILE_SIZE"
        )
    }
}
