// swift-tools-version: 6.2
import Foundation
import PackageDescription

// The proposals SE-0335, SE-0409, SE-0444 and SE-0461 of Swift Evolution; OUTBOX, because `Outbox` is also a type.
let settings: [SwiftSetting] =
    [.swiftLanguageMode(.v6), .define("OUTBOX", .when(traits: ["Outbox"]))]
    + ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility", "NonisolatedNonsendingByDefault"]
    .map { .enableUpcomingFeature($0) }

// The manifest's host decides what cannot depend on the platform that is built for.
#if os(Linux)
let isLinux = true
#else
let isLinux = false
#endif

/// The byte-stream back ends that are built when nobody asks for others: libwebsockets is a package of Linux distributions,
/// and has no build for iOS.
///
/// `LINKSPAN_TRAITS=LWS,NIO` gives the package's own builds and tests others beside the features.
let defaultBackEnds: [String] = {
    let names = Context.environment["LINKSPAN_TRAITS"] ?? ""
    return names.isEmpty ? [isLinux ? "LWS" : "NIO"] : names.split(separator: ",").map(String.init)
}()
/// Features with packages of their own, which are fetched only while the trait is on.
let features = [
    "YAML": "Configuration files, by Yams.",
    "Metrics": "The service metrics, for backends of swift-metrics.",
    "Tracing": "The service tracing, for backends of swift-distributed-tracing.",
    "OpenCombine": "Publishers where there is no Combine, by OpenCombine.",
    "ServiceLifecycle": "Messaging and registry as services of swift-service-lifecycle.",
    "Outbox": "The outbox, a file of SQLite by GRDB.",
    "Encryption": "Encryption of payloads and, with the trait Outbox, of outboxes, by swift-crypto.",
]
let traits: Set<Trait> = Set(
    features.map { .trait(name: $0.key, description: $0.value) } + [
        .trait(name: "LWS", description: "The byte-stream back end over libwebsockets, which the machine has to have."),
        .trait(name: "NIO", description: "The byte-stream back end over SwiftNIO."),
        .default(enabledTraits: Set(defaultBackEnds + features.keys)),
    ])

// MARK: - Dependencies

/// A product of another package, needed while one of the traits is on, if any are named.
func product(_ name: String, _ package: String, _ traits: String..., on systems: [Platform] = []) -> Target.Dependency {
    if traits.isEmpty { return .product(name: name, package: package) }
    if systems.isEmpty { return .product(name: name, package: package, condition: .when(traits: Set(traits))) }
    return .product(name: name, package: package, condition: .when(platforms: systems, traits: Set(traits)))
}
let argumentParser = product("ArgumentParser", "swift-argument-parser")
let logging = product("Logging", "swift-log")
let deque = product("DequeModule", "swift-collections")
let heap = product("HeapModule", "swift-collections")
// The outbox counts what it does.
let metrics = product("CoreMetrics", "swift-metrics", "Metrics", "Outbox")
let tracing = product("Tracing", "swift-distributed-tracing", "Tracing")
let openCombine = product("OpenCombine", "OpenCombine", "OpenCombine", on: [.linux])
let serviceLifecycle = product("ServiceLifecycle", "swift-service-lifecycle", "ServiceLifecycle")
let grdb = product("GRDB", "GRDB.swift", "Outbox")
let sqlite = product("GRDBSQLite", "GRDB.swift", "Outbox")
let crypto = product("Crypto", "swift-crypto", "Encryption")
let apple: [Platform] = [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS]
let nio =
    ["NIOCore", "NIOPosix", "NIOTLS"].map { product($0, "swift-nio", "NIO") } + [
        product("NIOSSL", "swift-nio-ssl", "NIO"),
        // Event loops over Network.framework.
        product("NIOTransportServices", "swift-nio-transport-services", "NIO", on: apple),
    ]

let core: [Target.Dependency] = ["Linkspan", "LinkspanRuntime"]
let messaging: [Target.Dependency] = core + ["LinkspanLifecycle", "LinkspanMessaging"]
let network: [Target.Dependency] = ["LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanBackEnds"]
let backEnd: [Target.Dependency] = ["LinkspanNetwork", "LinkspanRuntime"]
let transports: [Target.Dependency] = ["LinkspanSocketIO", "LinkspanWebSocket"]
let compatible: [Target.Dependency] = core + ["LinkspanNetwork", logging]
let builtIn: [Target.Dependency] = ["LinkspanConfiguration", "LinkspanInMemory", "LinkspanServices"]

// MARK: - Modules

/// The modules that call an API for which Apple wants a reason; `.ci/privacy` checks the list.
let withPrivacyManifest: Set = ["LinkspanRuntime", "LinkspanOutbox"]

/// The plug-ins that are built with package access, besides `Sources`, which has it: nothing else has a privilege that a
/// third party lacks.
///
/// The back ends and the codecs of the wires share timers and threads of the runtime and what belongs to their wires with
/// the two network transports, and with the server that the transports are tested against. The service `tokenrefresh` is the
/// core's renewal of credentials, offered as a service. The inspector shows the inside of the SDK.
let withPackageAccess: Set = [
    "LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanLWS", "LinkspanNIO", "LinkspanBackEnds",
    "LinkspanSocketIO", "LinkspanWebSocket", "LinkspanDevServer", "LinkspanServices", "LinkspanInspector",
]

/// A module of `Sources`, the SDK without any network, or of `Plugins`, which can be left out.
func module(_ path: String, _ dependencies: [Target.Dependency], _ settings: [SwiftSetting] = settings) -> Target {
    let name = String(path.split(separator: "/").last ?? "")
    let manifest = withPrivacyManifest.contains(name) ? ["PrivacyInfo.xcprivacy"] : []
    // A resource costs Linux a bundle that nobody reads.
    return .target(
        name: name, dependencies: dependencies, path: path, exclude: isLinux ? manifest : [],
        resources: isLinux ? nil : manifest.map { .copy($0) },
        packageAccess: path.hasPrefix("Sources/") || withPackageAccess.contains(name), swiftSettings: settings)
}

let modules: [Target] = [
    .systemLibrary(name: "CLinkspanRuntime"),
    module("Sources/LinkspanRuntime", ["CLinkspanRuntime", heap]),
    module("Sources/LinkspanLifecycle", ["LinkspanRuntime", deque]),
    module("Sources/Linkspan", ["LinkspanRuntime", logging, deque, heap]),
    module("Sources/LinkspanMessaging", core + ["LinkspanLifecycle"]),
    module("Sources/LinkspanConfiguration", messaging + [product("Yams", "Yams", "YAML")]),
    module("Sources/LinkspanFaults", core + ["CLinkspanRuntime", deque]),
    module("Sources/LinkspanTesting", core + ["LinkspanFaults", "CLinkspanRuntime", deque]),
    module("Plugins/Transports/LinkspanInMemory", core + [deque]),
    module("Plugins/Transports/LinkspanWebSocket", core + network),
    // Without package access, like a protocol of a third party.
    module("Plugins/Protocols/LinkspanBrokers", ["Linkspan", "LinkspanNetwork", "LinkspanWebSocket"]),
    module("Plugins/Transports/LinkspanSocketIO", core + network + [deque]),
    module("Plugins/Services/LinkspanServices", messaging + [logging, deque]),
    module("Plugins/Services/LinkspanTelemetry", messaging + [metrics, tracing]),
    module("Plugins/Services/LinkspanInspector", messaging + network + ["LinkspanServices", deque]),
    module("Plugins/Bridges/LinkspanReactive", core + [deque, openCombine]),
    module("Plugins/Bridges/LinkspanServiceLifecycle", messaging + [serviceLifecycle]),
    module("Plugins/Stores/LinkspanOutbox", core + ["LinkspanMessaging", logging, metrics, grdb, sqlite]),
    module("Plugins/Interceptors/LinkspanEncryption", ["Linkspan", "LinkspanOutbox", crypto]),
    module("Plugins/Kit/LinkspanKit", messaging + transports + builtIn + ["LinkspanBrokers", "LinkspanTelemetry"]),
    // The modules' names are those of the libraries that they replace, so that apps keep their imports.
    module(
        "Plugins/Compatibility/SocketIO", compatible + ["LinkspanSocketIO", "Starscream"], [.swiftLanguageMode(.v5)]),
    module("Plugins/Compatibility/Starscream", compatible + ["LinkspanWebSocket"], [.swiftLanguageMode(.v5)]),
    module("Plugins/Servers/LinkspanDevServer", core + transports + network + ["LinkspanInMemory", deque]),
    .systemLibrary(
        name: "CLibwebsockets", path: "Plugins/Support/CLibwebsockets", pkgConfig: "libwebsockets",
        providers: [.apt(["libwebsockets-dev"]), .brew(["libwebsockets"])]),
    .systemLibrary(
        name: "CZlib", path: "Plugins/Support/CZlib", pkgConfig: "zlib",
        providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    module("Plugins/Support/LinkspanWebSocketProtocol", ["CZlib"]),
    module("Plugins/Support/LinkspanNetwork", core + ["LinkspanWebSocketProtocol", "CLinkspanRuntime"]),
    module(
        "Plugins/Support/LinkspanLWS", backEnd + [.target(name: "CLibwebsockets", condition: .when(traits: ["LWS"]))]),
    module("Plugins/Support/LinkspanNIO", backEnd + ["CLinkspanRuntime"] + nio),
    module("Plugins/Support/LinkspanBackEnds", backEnd + ["LinkspanLWS", "LinkspanNIO"]),
]

func library(_ name: String, _ others: String...) -> Product { .library(name: name, targets: [name] + others) }

/// The libraries on which an app can depend.
let products =
    [
        "LinkspanKit", "LinkspanConfiguration", "LinkspanSocketIO", "LinkspanWebSocket", "LinkspanBrokers",
        "LinkspanInspector", "LinkspanReactive", "LinkspanServiceLifecycle", "LinkspanOutbox", "LinkspanEncryption",
        "LinkspanDevServer", "SocketIO", "Starscream",
    ].map { library($0) } + [
        library("Linkspan", "LinkspanMessaging", "LinkspanRuntime", "LinkspanInMemory"),
        // The service registry, without connections.
        library("LinkspanLifecycle", "LinkspanRuntime"),
        library("LinkspanServices", "LinkspanTelemetry"),
        library("LinkspanTesting", "LinkspanFaults"),
        .executable(name: "linkspan", targets: ["linkspan"]),
        // TLS, proxies and compression; what a back end implements; loops that an app runs sockets of its own on.
        library("LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanLWS", "LinkspanNIO"),
    ]

// MARK: - Programs

/// A program without package access, like one of another package.
func program(_ name: String, in path: String, _ needs: [Target.Dependency], exclude: [String] = []) -> Target {
    .executableTarget(
        name: name, dependencies: needs, path: path, exclude: exclude, packageAccess: false, swiftSettings: settings)
}

let programs: [Target] = [
    // The terminal of the tool and the chat, which is no part of the SDK.
    .target(
        name: "LinkspanTerminal", dependencies: core + ["LinkspanNetwork", argumentParser], path: "Tool/Terminal",
        packageAccess: false, swiftSettings: settings),
    .executableTarget(
        name: "linkspan",
        dependencies: messaging + transports + network + builtIn
            + [
                "LinkspanKit", "LinkspanInspector", "LinkspanOutbox", "LinkspanFaults", "LinkspanTesting",
                "LinkspanTerminal", argumentParser, logging,
            ]
            + [product("Yams", "Yams", "YAML")],
        path: "Tool", exclude: ["Terminal", "README.md", "Dockerfile", "Dockerfile.dockerignore"],
        swiftSettings: settings),
    program(
        "chat", in: "Samples/Chat",
        messaging + transports + builtIn + [
            "LinkspanBrokers", "LinkspanNetwork", "LinkspanInspector", "LinkspanOutbox", "LinkspanDevServer",
            "LinkspanTerminal", logging, argumentParser,
        ],
        exclude: [
            "README.md", "PROTOCOL.md", "requirements.txt", "chat.yaml", "cluster.sh", "front.py", "server.py",
            "chat_hub.py", "chat_history.py", "local_backplane.py", "redis_backplane.py", "redis_history.py",
            "redis_presence.py", "socketio_front.py", "websocket_front.py", "record", "recording.svg",
        ]),
    // Parts of programs as a new user writes them, with tests.
    .target(
        name: "Ports", dependencies: ["LinkspanKit", "LinkspanNetwork", "LinkspanRuntime"], path: "Samples/Ports",
        exclude: ["README.md", "Service/service.yaml"], packageAccess: false, swiftSettings: settings),
    // Protocols of servers, as a third party writes them.
    .target(
        name: "Protocols", dependencies: ["LinkspanKit", "LinkspanNetwork"], path: "Samples/Protocols",
        exclude: ["README.md"], packageAccess: false, swiftSettings: settings),
    program(
        "workloads", in: "Benchmarks/Workloads",
        messaging + transports
            + ["LinkspanInMemory", "LinkspanNetwork", "LinkspanOutbox", "LinkspanInspector", "SocketIO", sqlite]),
    .executableTarget(
        name: "echo-server", path: "Benchmarks/EchoServer", packageAccess: false,
        // OpenSSL comes with libwebsockets.
        cSettings: [.define("ECHO_SERVER_TLS", .when(platforms: [.linux], traits: ["LWS"]))],
        linkerSettings: ["ssl", "crypto"].map { .linkedLibrary($0, .when(platforms: [.linux], traits: ["LWS"])) }),
    // Clients of tests: a process that is over soon, one that the outbox's tests kill, one that the Autobahn test suite judges.
    program("quick-exit", in: "Tests/Exits", ["Linkspan", "LinkspanMessaging", "LinkspanNetwork", "LinkspanSocketIO"]),
    .executableTarget(
        name: "outbox-client", dependencies: core + transports + ["LinkspanBrokers", "LinkspanOutbox"],
        path: "Tests/OutboxClient",
        swiftSettings: settings),
    .executableTarget(
        name: "conformance-client", dependencies: network + ["LinkspanRuntime"], path: "Tests/Conformance/Client",
        swiftSettings: settings),
]

/// The README's first program; its top level needs macOS 15, which a package of one's own would say.
let firstSteps =
    isLinux
    ? [program("first-steps", in: "Samples/FirstSteps", ["LinkspanKit", "LinkspanDevServer"], exclude: ["app.yaml"])]
    : []

// MARK: - Tests

func test(_ subject: String, _ uses: [Target.Dependency], exclude: [String] = []) -> Target {
    let name = "\(subject)Tests"
    return .testTarget(name: name, dependencies: uses, path: "Tests/\(name)", exclude: exclude, swiftSettings: settings)
}
/// Code that several test targets share.
func fixtures(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: settings)
}
/// Programs that were written for another library, which import nothing else.
func old(_ module: String) -> Target {
    .target(
        name: "Old\(module)Programs", dependencies: [.init(stringLiteral: module)], path: "Tests/Old\(module)Programs",
        packageAccess: false, swiftSettings: [.swiftLanguageMode(.v5)])
}
let metricsTestKit = product("MetricsTestKit", "swift-metrics", "Metrics", "Outbox")
let inMemoryTracing = product("InMemoryTracing", "swift-distributed-tracing", "Tracing")
let openCombineDispatch = product("OpenCombineDispatch", "OpenCombine", "OpenCombine", on: [.linux])
let lifecycleTestKit = product("ServiceLifecycleTestKit", "swift-service-lifecycle", "ServiceLifecycle")
let unixSignals = product("UnixSignals", "swift-service-lifecycle", "ServiceLifecycle")
/// The dependencies of most tests of plug-ins, and of tests of whole programs.
let sdk = messaging + ["LinkspanConfiguration", "LinkspanInMemory", "LinkspanTesting", logging]
let everything = modules.filter { $0.type == .regular }.map { .target(name: $0.name) } + [logging]

let tests: [Target] = [
    // Journals of what has happened, connections of which each byte is a test's own, files of tests.
    fixtures("TestSupport", ["LinkspanRuntime"]),
    fixtures("ServiceFixtures", messaging + ["LinkspanConfiguration"]),
    // Runs programs of the package and servers of theirs, and shows what is to be seen at a terminal.
    fixtures("TestedPrograms", []),
    // Runs a test over each back end of byte streams.
    fixtures("TestedBackEnds", backEnd + ["LinkspanBackEnds", "LinkspanNIO"]),
    // A file system for SQLite that records what is written and when.
    .target(name: "CRecordingDisk", dependencies: [sqlite], path: "Tests/CRecordingDisk"),
    test("LinkspanRuntime", ["LinkspanRuntime", "TestSupport"]),
    test("LinkspanLifecycle", ["LinkspanLifecycle", "LinkspanRuntime", "LinkspanTesting", "TestSupport"]),
    test("Linkspan", core + ["LinkspanTesting", "LinkspanInMemory", "TestSupport", logging, deque]),
    test("LinkspanMessaging", messaging + ["LinkspanTesting", "TestSupport"]),
    test("LinkspanConfiguration", sdk + ["LinkspanServices"]),
    test("LinkspanServices", sdk + ["LinkspanServices", "ServiceFixtures", "TestSupport"]),
    test("LinkspanTelemetry", everything + ["ServiceFixtures", metrics, metricsTestKit, tracing, inMemoryTracing]),
    test("LinkspanInspector", everything + ["ServiceFixtures", "TestSupport"]),
    test("LinkspanServiceLifecycle", sdk + ["LinkspanServiceLifecycle", serviceLifecycle, lifecycleTestKit]),
    test("LinkspanReactive", everything + ["TestSupport", openCombine, openCombineDispatch]),
    test(
        "LinkspanOutbox",
        sdk + ["LinkspanOutbox", "TestSupport", "CRecordingDisk", metrics, metricsTestKit, grdb, sqlite]),
    test("LinkspanOutboxKill", sdk + ["outbox-client", "LinkspanDevServer", "TestSupport", grdb]),
    test("LinkspanEncryption", sdk + ["LinkspanEncryption", "LinkspanOutbox", crypto]),
    // What every byte-stream back end has to do.
    test("ByteStream", core + network + ["LinkspanLWS", "LinkspanNIO", "TestSupport", "TestedBackEnds"]),
    test("LinkspanWebSocketProtocol", ["LinkspanWebSocketProtocol", "LinkspanRuntime", "LinkspanTesting"]),
    test("LinkspanNetwork", core + network),
    test("LinkspanWebSocket", ["Linkspan", "LinkspanWebSocket"] + network),
    test(
        "LinkspanBrokers",
        core + network + [
            "LinkspanBrokers", "LinkspanWebSocket", "LinkspanDevServer", "LinkspanTesting", "outbox-client",
            "TestedBackEnds", "TestSupport", crypto,
        ]),
    test(
        "LinkspanSocketIO", core + network + ["LinkspanSocketIO", "LinkspanTesting", "TestSupport"],
        exclude: ["exchanges.txt"]),
    test("LinkspanDevServer", everything + ["TestedBackEnds", "TestSupport"]),
    // Programs written for socket.io-client-swift and Starscream, and the tests that run them.
    old("SocketIO"),
    test("SocketIO", everything + ["OldSocketIOPrograms", "TestedBackEnds", "TestSupport"]),
    old("Starscream"), test("Starscream", everything + ["OldStarscreamPrograms", "TestedBackEnds", "TestSupport"]),
    test("Interop", everything + ["quick-exit", "OldStarscreamPrograms", "TestSupport"], exclude: ["servers"]),
    test("Documentation", everything + ["TestSupport", serviceLifecycle, unixSignals, crypto, openCombine]),
    test(
        "Chat",
        firstSteps.map { .target(name: $0.name) } + everything
            + ["chat", "linkspan", "LinkspanTerminal", "TestSupport", "TestedPrograms"], exclude: ["listener.py"]),
    test(
        "Tool",
        everything + ["linkspan", "chat", "LinkspanTerminal", "TestSupport", "TestedPrograms", argumentParser],
        exclude: ["Probe/echo.py", "Doctor/faults.py"]),
    test(
        "Protocols",
        ["Protocols", "LinkspanBrokers", "LinkspanDevServer", "LinkspanKit", "LinkspanNetwork", "TestSupport"]),
    test("Ports", ["Ports", "LinkspanKit", "LinkspanDevServer", "LinkspanNetwork", "LinkspanTesting", "TestSupport"]),
]

/// The fuzz targets, for `make fuzz`: only then, because they take their `main` from the fuzzer.
///
/// Otherwise their oracles belong to a test target, which replays the stored inputs.
let oracles = core + network + transports + ["LinkspanBrokers", "LinkspanInspector"]
let fuzzers = try? FileManager.default.contentsOfDirectory(atPath: "\(Context.packageDirectory)/Fuzz/Targets")
let fuzzing: [Target] =
    Context.environment["LINKSPAN_FUZZ"] == nil
    ? [
        .testTarget(
            name: "FuzzTests", dependencies: oracles + ["LinkspanTesting"], path: "Fuzz",
            exclude: ["Targets", "dictionaries", "Seeds", "README.md", "differential.py", "run", "seeds"],
            swiftSettings: settings)
    ]
    : [.target(name: "FuzzOracles", dependencies: oracles, path: "Fuzz/Oracles", swiftSettings: settings)]
        + (fuzzers ?? []).map {
            .executableTarget(
                name: "fuzz-\($0)", dependencies: ["FuzzOracles"], path: "Fuzz/Targets/\($0)", swiftSettings: settings)
        }

let package = Package(
    name: "linkspan",
    platforms: [.macOS(.v14), .iOS(.v17), .tvOS(.v17), .watchOS(.v10), .visionOS(.v1)],
    products: products,
    traits: traits,
    dependencies: [
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.6.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-transport-services", from: "1.28.0"),
    ],
    targets: modules + programs + firstSteps + tests + fuzzing
)
