// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
    .enableUpcomingFeature("ExistentialAny"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
    .enableUpcomingFeature("InternalImportsByDefault"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
    .enableUpcomingFeature("MemberImportVisibility"),
    // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// The byte-stream back ends that are built when nobody asks for others.
///
/// Default traits are the same for every platform that is built for, so the manifest's host decides: libwebsockets is a
/// package of Linux distributions, and has no build for iOS. `LINKSPAN_TRAITS=LWS,NIO` gives the package's own builds and
/// tests others beside the features.
let defaultBackEnds: Set<String> = {
    let names = Context.environment["LINKSPAN_TRAITS"] ?? ""
    if !names.isEmpty { return Set(names.split(separator: ",").map(String.init)) }
    #if os(Linux)
    return ["LWS"]
    #else
    return ["NIO"]
    #endif
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
let backEnds = [
    "LWS": "The byte-stream back end over libwebsockets, which the machine has to have.",
    "NIO": "The byte-stream back end over SwiftNIO.",
]
let traits: Set<Trait> = Set(
    features.merging(backEnds) { feature, _ in feature }.map { .trait(name: $0.key, description: $0.value) }
        + [.default(enabledTraits: defaultBackEnds.union(features.keys))])

// MARK: - Dependencies

/// A product of another package, needed while one of the traits is on.
func product(_ name: String, _ package: String, _ traits: String...) -> Target.Dependency {
    .product(name: name, package: package, condition: .when(traits: Set(traits)))
}
/// A product of OpenCombine, which stands in for Combine on Linux.
func onLinux(_ name: String) -> Target.Dependency {
    .product(name: name, package: "OpenCombine", condition: .when(platforms: [.linux], traits: ["OpenCombine"]))
}
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let yams = product("Yams", "Yams", "YAML")
// The outbox counts what it does.
let metrics = product("CoreMetrics", "swift-metrics", "Metrics", "Outbox")
let metricsTestKit = product("MetricsTestKit", "swift-metrics", "Metrics", "Outbox")
let tracing = product("Tracing", "swift-distributed-tracing", "Tracing")
let serviceLifecycle = product("ServiceLifecycle", "swift-service-lifecycle", "ServiceLifecycle")
let grdb = product("GRDB", "GRDB.swift", "Outbox")
let sqlite = product("GRDBSQLite", "GRDB.swift", "Outbox")
let crypto = product("Crypto", "swift-crypto", "Encryption")
let nio: [Target.Dependency] = [
    product("NIOCore", "swift-nio", "NIO"), product("NIOPosix", "swift-nio", "NIO"),
    product("NIOTLS", "swift-nio", "NIO"), product("NIOSSL", "swift-nio-ssl", "NIO"),
    // Event loops over Network.framework.
    .product(
        name: "NIOTransportServices", package: "swift-nio-transport-services",
        condition: .when(platforms: [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS], traits: ["NIO"])),
]

let core: [Target.Dependency] = ["Linkspan", "LinkspanRuntime"]
let messaging: [Target.Dependency] = core + ["LinkspanLifecycle", "LinkspanMessaging"]
let network: [Target.Dependency] = ["LinkspanNetwork", "LinkspanWebSocketProtocol"]
let transports: [Target.Dependency] = ["LinkspanInMemory", "LinkspanSocketIO", "LinkspanWebSocket"]

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

/// A module of `Sources`, the SDK without any network, or of a folder of `Plugins`, which can be left out.
func module(_ name: String, in folder: String = "Sources", _ dependencies: [Target.Dependency]) -> Target {
    var exclude: [String] = []
    var resources: [Resource]?
    if withPrivacyManifest.contains(name) {
        #if os(Linux)
        // A resource costs Linux a bundle that nobody reads.
        exclude = ["PrivacyInfo.xcprivacy"]
        #else
        resources = [.copy("PrivacyInfo.xcprivacy")]
        #endif
    }
    return .target(
        name: name, dependencies: dependencies, path: "\(folder)/\(name)", exclude: exclude, resources: resources,
        packageAccess: folder == "Sources" || withPackageAccess.contains(name), swiftSettings: settings)
}

let modules: [Target] = [
    .systemLibrary(name: "CLinkspanRuntime"),
    module("LinkspanRuntime", ["CLinkspanRuntime", heap]),
    module("LinkspanLifecycle", ["LinkspanRuntime", deque]),
    module("Linkspan", ["LinkspanRuntime", logging, deque, heap]),
    module("LinkspanMessaging", core + ["LinkspanLifecycle"]),
    module("LinkspanConfiguration", messaging + [yams]),
    module("LinkspanTesting", core + ["CLinkspanRuntime", deque]),

    module("LinkspanInMemory", in: "Plugins/Transports", core + [deque]),
    module("LinkspanWebSocket", in: "Plugins/Transports", core + network + ["LinkspanBackEnds"]),
    module("LinkspanSocketIO", in: "Plugins/Transports", core + network + ["LinkspanBackEnds", deque]),

    module("LinkspanServices", in: "Plugins/Services", messaging + [logging, deque]),
    module("LinkspanTelemetry", in: "Plugins/Services", messaging + [metrics, tracing]),
    module(
        "LinkspanInspector", in: "Plugins/Services",
        messaging + network + ["LinkspanServices", "LinkspanBackEnds", deque]),

    module("LinkspanReactive", in: "Plugins/Bridges", core + [deque, onLinux("OpenCombine")]),
    module("LinkspanServiceLifecycle", in: "Plugins/Bridges", messaging + [serviceLifecycle]),

    module("LinkspanOutbox", in: "Plugins/Stores", core + ["LinkspanMessaging", logging, metrics, grdb]),
    module("LinkspanEncryption", in: "Plugins/Interceptors", ["Linkspan", "LinkspanOutbox", crypto]),

    module("LinkspanKit", in: "Plugins/Kit", messaging + transports + ["LinkspanConfiguration"]),
    module(
        "LinkspanConfigurationCommand", in: "Plugins/CommandLine",
        messaging + ["LinkspanConfiguration", argumentParser]),
    module(
        "LinkspanDevServer", in: "Plugins/Servers", core + transports + network + ["LinkspanBackEnds", deque]),

    .systemLibrary(
        name: "CLibwebsockets", path: "Plugins/Support/CLibwebsockets", pkgConfig: "libwebsockets",
        providers: [.apt(["libwebsockets-dev"]), .brew(["libwebsockets"])]),
    .systemLibrary(
        name: "CZlib", path: "Plugins/Support/CZlib", pkgConfig: "zlib",
        providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    module("LinkspanWebSocketProtocol", in: "Plugins/Support", ["CZlib"]),
    module("LinkspanNetwork", in: "Plugins/Support", core + ["LinkspanWebSocketProtocol", "CLinkspanRuntime"]),
    module(
        "LinkspanLWS", in: "Plugins/Support",
        ["LinkspanNetwork", "LinkspanRuntime", .target(name: "CLibwebsockets", condition: .when(traits: ["LWS"]))]),
    module("LinkspanNIO", in: "Plugins/Support", ["LinkspanNetwork", "LinkspanRuntime"] + nio),
    module(
        "LinkspanBackEnds", in: "Plugins/Support",
        ["LinkspanNetwork", "LinkspanRuntime", "LinkspanLWS", "LinkspanNIO"]),
]

/// What an app names in its manifest.
let products: [Product] = [
    // One import for an app: connections, services, configuration and the transports.
    .library(name: "LinkspanKit", targets: ["LinkspanKit"]),
    .library(name: "Linkspan", targets: ["Linkspan", "LinkspanMessaging", "LinkspanRuntime", "LinkspanInMemory"]),
    // The service registry, without connections.
    .library(name: "LinkspanLifecycle", targets: ["LinkspanLifecycle", "LinkspanRuntime"]),
    .library(name: "LinkspanConfiguration", targets: ["LinkspanConfiguration"]),
    .library(name: "LinkspanTesting", targets: ["LinkspanTesting"]),
    .library(name: "LinkspanSocketIO", targets: ["LinkspanSocketIO"]),
    .library(name: "LinkspanWebSocket", targets: ["LinkspanWebSocket"]),
    // TLS, proxies and compression; what another back end implements; loops that an app runs sockets of its own on.
    .library(
        name: "LinkspanNetwork",
        targets: ["LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanLWS", "LinkspanNIO"]),
    .library(name: "LinkspanServices", targets: ["LinkspanServices", "LinkspanTelemetry"]),
    .library(name: "LinkspanInspector", targets: ["LinkspanInspector"]),
    .library(name: "LinkspanReactive", targets: ["LinkspanReactive"]),
    .library(name: "LinkspanServiceLifecycle", targets: ["LinkspanServiceLifecycle"]),
    .library(name: "LinkspanOutbox", targets: ["LinkspanOutbox"]),
    .library(name: "LinkspanEncryption", targets: ["LinkspanEncryption"]),
    .library(name: "LinkspanDevServer", targets: ["LinkspanDevServer"]),
    .library(name: "LinkspanConfigurationCommand", targets: ["LinkspanConfigurationCommand"]),
]

// MARK: - Programs

/// The README's first program; its top level needs macOS 15, which a package of one's own would say.
let firstSteps: [Target] = {
    #if os(Linux)
    [
        .executableTarget(
            name: "first-steps", dependencies: ["LinkspanKit", "LinkspanDevServer"], path: "Samples/FirstSteps",
            exclude: ["app.yaml"], packageAccess: false, swiftSettings: settings)
    ]
    #else
    []
    #endif
}()

let programs: [Target] = [
    .executableTarget(
        name: "chat",
        dependencies: messaging + transports + [
            "LinkspanConfiguration", "LinkspanConfigurationCommand", "LinkspanNetwork", "LinkspanServices",
            "LinkspanInspector", "LinkspanOutbox", "LinkspanDevServer", logging, argumentParser,
        ],
        path: "Samples/Chat",
        exclude: [
            "README.md", "PROTOCOL.md", "requirements.txt", "chat.yaml", "cluster.sh", "front.py", "server.py",
            "chat_hub.py", "chat_history.py", "local_backplane.py", "redis_backplane.py", "redis_history.py",
            "redis_presence.py", "socketio_front.py", "websocket_front.py", "record", "recording.svg",
        ],
        packageAccess: false, swiftSettings: settings),
    // Programs as a new user writes them, with tests.
    .target(
        name: "Ports", dependencies: ["LinkspanKit", "LinkspanNetwork", "LinkspanRuntime"], path: "Samples/Ports",
        exclude: ["README.md", "Service/service.yaml"], packageAccess: false, swiftSettings: settings),
    .executableTarget(
        name: "echo-server", path: "Benchmarks/EchoServer", packageAccess: false,
        // OpenSSL comes with libwebsockets.
        cSettings: [.define("ECHO_SERVER_TLS", .when(platforms: [.linux], traits: ["LWS"]))],
        linkerSettings: ["ssl", "crypto"].map { .linkedLibrary($0, .when(platforms: [.linux], traits: ["LWS"])) }),
    .executableTarget(
        name: "workloads",
        dependencies: messaging + transports + ["LinkspanNetwork", "LinkspanOutbox", "LinkspanInspector", sqlite],
        path: "Benchmarks/Workloads", packageAccess: false, swiftSettings: settings),
]

// MARK: - Tests

func test(
    _ name: String, in folder: String? = nil, _ dependencies: [Target.Dependency], exclude: [String] = []
) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(folder ?? "\(name)Tests")", exclude: exclude,
        swiftSettings: settings)
}
/// What tests share.
func fixtures(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/\(name)", swiftSettings: settings)
}
/// A program that tests start.
func testProgram(
    _ name: String, in folder: String, _ dependencies: [Target.Dependency], packageAccess: Bool = false
) -> Target {
    .executableTarget(
        name: name, dependencies: dependencies, path: "Tests/\(folder)", packageAccess: packageAccess,
        swiftSettings: settings)
}

let tests: [Target] = [
    // What has happened so far, for tests against servers.
    fixtures("EventJournal", ["LinkspanRuntime"]),
    // Connections of which each byte is a test's own.
    fixtures("RawSockets", []),
    // Where the tests of the outbox have their files.
    fixtures("OutboxFixtures", []),
    // What the tests of services share.
    fixtures("ServiceFixtures", messaging + ["LinkspanConfiguration"]),
    // Which back ends of byte streams a test runs over.
    fixtures("TestedBackEnds", ["LinkspanBackEnds", "LinkspanNIO", "LinkspanNetwork", "LinkspanRuntime"]),
    // A file system for SQLite that tells what is written and when.
    .target(name: "CRecordingDisk", dependencies: [sqlite], path: "Tests/CRecordingDisk"),
    // What `make conformance` has judged by the Autobahn test suite.
    testProgram(
        "conformance-client", in: "Conformance/Client", network + ["LinkspanRuntime", "LinkspanBackEnds"],
        packageAccess: true),
    // A process that is over soon.
    testProgram("quick-exit", in: "Exits", ["Linkspan", "LinkspanMessaging", "LinkspanNetwork", "LinkspanSocketIO"]),
    // The client that the tests of the outbox kill.
    testProgram(
        "outbox-client", in: "OutboxClient", core + ["LinkspanOutbox", "LinkspanSocketIO", "LinkspanWebSocket"]),

    test("LinkspanRuntime", ["LinkspanRuntime"]),
    test("LinkspanLifecycle", ["LinkspanLifecycle", "LinkspanRuntime", "LinkspanTesting"]),
    test("Linkspan", core + ["LinkspanTesting", "LinkspanInMemory", "EventJournal", logging, deque]),
    test("LinkspanMessaging", messaging + ["LinkspanTesting"]),
    test(
        "LinkspanConfiguration",
        messaging + ["LinkspanConfiguration", "LinkspanInMemory", "LinkspanServices", "LinkspanTesting"]),
    test(
        "LinkspanServices",
        messaging + [
            "LinkspanServices", "LinkspanConfiguration", "LinkspanInMemory", "LinkspanTesting", "ServiceFixtures",
            logging,
        ]),
    test(
        "LinkspanTelemetry",
        messaging + [
            "LinkspanTelemetry", "LinkspanConfiguration", "LinkspanInMemory", "LinkspanTesting", "ServiceFixtures",
            metrics, metricsTestKit, tracing, product("InMemoryTracing", "swift-distributed-tracing", "Tracing"),
        ]),
    test(
        "LinkspanInspector",
        messaging + [
            "LinkspanInspector", "LinkspanConfiguration", "LinkspanNetwork", "LinkspanDevServer", "LinkspanInMemory",
            "LinkspanWebSocket", "ServiceFixtures", "RawSockets", "EventJournal",
        ]),
    test(
        "LinkspanServiceLifecycle",
        messaging + [
            "LinkspanServiceLifecycle", "LinkspanInMemory", "LinkspanTesting", logging, serviceLifecycle,
            product("ServiceLifecycleTestKit", "swift-service-lifecycle", "ServiceLifecycle"),
        ]),
    test(
        "LinkspanReactive",
        core + [
            "LinkspanReactive", "LinkspanInMemory", "LinkspanDevServer", "LinkspanSocketIO", "LinkspanTesting",
            "EventJournal", onLinux("OpenCombine"), onLinux("OpenCombineDispatch"),
        ]),
    test(
        "LinkspanOutbox",
        core + [
            "LinkspanOutbox", "LinkspanMessaging", "LinkspanConfiguration", "LinkspanInMemory", "LinkspanTesting",
            "OutboxFixtures", "CRecordingDisk", metrics, metricsTestKit, logging, grdb, sqlite,
        ]),
    test(
        "LinkspanOutboxKill",
        core + [
            "outbox-client", "LinkspanTesting", "LinkspanDevServer", "LinkspanInMemory", "OutboxFixtures",
            "EventJournal", grdb,
        ]),
    test(
        "LinkspanEncryption",
        core + ["LinkspanEncryption", "LinkspanOutbox", "LinkspanInMemory", "LinkspanTesting", crypto]),
    // What every byte-stream back end has to do.
    test("ByteStream", core + ["LinkspanNetwork", "LinkspanBackEnds", "LinkspanLWS", "LinkspanNIO", "TestedBackEnds"]),
    test("LinkspanWebSocketProtocol", ["LinkspanWebSocketProtocol", "LinkspanTesting"]),
    test("LinkspanNetwork", core + network),
    test("LinkspanWebSocket", ["Linkspan", "LinkspanWebSocket"] + network),
    test("LinkspanSocketIO", core + network + ["LinkspanSocketIO", "LinkspanTesting"], exclude: ["Exchanges"]),
    test(
        "LinkspanDevServer",
        core + transports + network + [
            "LinkspanDevServer", "LinkspanMessaging", "LinkspanConfiguration", "LinkspanBackEnds", "LinkspanTesting",
            "EventJournal", "TestedBackEnds", "RawSockets",
        ]),
    test(
        "Documentation",
        messaging + transports + [
            "LinkspanKit", "LinkspanConfiguration", "LinkspanConfigurationCommand", "LinkspanNetwork",
            "LinkspanTesting",
            "LinkspanServices", "LinkspanTelemetry", "LinkspanInspector", "LinkspanReactive",
            "LinkspanServiceLifecycle",
            "LinkspanOutbox", "LinkspanEncryption", "LinkspanDevServer", argumentParser, crypto, logging,
            serviceLifecycle, onLinux("OpenCombine"),
            product("UnixSignals", "swift-service-lifecycle", "ServiceLifecycle"),
        ]),
    test(
        "Chat",
        firstSteps.map { .target(name: $0.name) } + core + transports + [
            "chat", "LinkspanConfiguration", "LinkspanMessaging", "LinkspanDevServer", "LinkspanTesting", "RawSockets",
        ],
        exclude: ["echo.py", "listener.py"]),
    test("Ports", ["Ports", "LinkspanKit", "LinkspanDevServer", "LinkspanNetwork", "LinkspanTesting"]),
    test(
        "Interop", in: "Interop",
        messaging + transports + network + [
            "quick-exit", "LinkspanBackEnds", "LinkspanServices", "LinkspanDevServer", "LinkspanOutbox",
            "LinkspanTesting", "EventJournal", "OutboxFixtures", logging,
        ],
        exclude: ["servers"]),
]

/// The fuzz targets, for `make fuzz`: only then, because they take their `main` from the fuzzer.
///
/// Otherwise their oracles belong to a test target, which replays the stored inputs.
let fuzzing: [Target]
let oracles: [Target.Dependency] = [
    "Linkspan", "LinkspanSocketIO", "LinkspanWebSocket", "LinkspanWebSocketProtocol", "LinkspanNetwork",
    "LinkspanInspector", "LinkspanRuntime",
]
if Context.environment["LINKSPAN_FUZZ"] == nil {
    fuzzing = [
        .testTarget(
            name: "FuzzTests", dependencies: oracles + ["LinkspanTesting"], path: "Fuzz",
            exclude: ["Targets", "Dictionaries", "Seeds", "README.md", "differential.py", "run", "seeds"],
            swiftSettings: settings)
    ]
} else {
    let names = [
        "cookies", "engineio-packet", "envelope", "inspector", "json", "payload-coder", "polling-payload", "request",
        "socketio-decoder", "socketio-packet", "socketio-session", "websocket-frames", "websocket-handshake",
        "websocket-inflate",
    ]
    fuzzing =
        [.target(name: "FuzzOracles", dependencies: oracles, path: "Fuzz/Oracles", swiftSettings: settings)]
        + names.map {
            .executableTarget(
                name: "fuzz-\($0)", dependencies: ["FuzzOracles"], path: "Fuzz/Targets/\($0)", swiftSettings: settings)
        }
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
