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
/// The features with packages of their own, which nobody fetches who names other traits.
let features: [(name: String, description: String)] = [
    ("YAML", "Configuration files, by Yams."),
    ("Metrics", "The service metrics, for backends of swift-metrics."),
    ("Tracing", "The service tracing, for backends of swift-distributed-tracing."),
    ("OpenCombine", "Publishers where there is no Combine, by OpenCombine."),
    ("ServiceLifecycle", "Messaging and registry as services of swift-service-lifecycle."),
    ("Outbox", "The outbox, a file of SQLite by GRDB."),
    ("OutboxCrypto", "Encryption of an outbox, by swift-crypto; with the outbox."),
    ("Encryption", "Encryption of payloads, by swift-crypto."),
]
let traits: Set<Trait> = Set(
    features.map { feature in
        .trait(
            name: feature.name, description: feature.description,
            enabledTraits: feature.name == "OutboxCrypto" ? ["Outbox"] : [])
    } + [
        .trait(name: "LWS", description: "The byte-stream back end over libwebsockets, which the machine has to have."),
        .trait(name: "NIO", description: "The byte-stream back end over SwiftNIO."),
        .default(enabledTraits: defaultBackEnds.union(features.map(\.name))),
    ])

let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")
let heap: Target.Dependency = .product(name: "HeapModule", package: "swift-collections")
let yams: Target.Dependency = .product(name: "Yams", package: "Yams", condition: .when(traits: ["YAML"]))
let openCombine: Target.Dependency = .product(
    name: "OpenCombine", package: "OpenCombine", condition: .when(platforms: [.linux], traits: ["OpenCombine"]))
/// The outbox counts what it does.
let metrics: Target.Dependency = .product(
    name: "CoreMetrics", package: "swift-metrics", condition: .when(traits: ["Metrics", "Outbox"]))
let tracing: Target.Dependency = .product(
    name: "Tracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"]))
let serviceLifecycle: Target.Dependency = .product(
    name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"]))
let grdb: Target.Dependency = .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["Outbox"]))
let sqlite: Target.Dependency = .product(
    name: "GRDBSQLite", package: "GRDB.swift", condition: .when(traits: ["Outbox"]))
let crypto: Target.Dependency = .product(
    name: "Crypto", package: "swift-crypto", condition: .when(traits: ["OutboxCrypto", "Encryption"]))
let nio: [Target.Dependency] =
    ["NIOCore", "NIOPosix", "NIOTLS"].map { name in
        .product(name: name, package: "swift-nio", condition: .when(traits: ["NIO"]))
    }
    + [
        .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["NIO"])),
        // Event loops over Network.framework.
        .product(
            name: "NIOTransportServices", package: "swift-nio-transport-services",
            condition: .when(
                platforms: [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS], traits: ["NIO"])),
    ]
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")

/// The targets that call an API for which Apple wants a reason; `.ci/privacy` checks the list.
let withPrivacyManifest = ["LinkspanRuntime", "LinkspanOutbox"]

/// The privacy manifest of a target, where the manifest's host is a Mac: a resource costs Linux a bundle that nobody reads.
func privacyManifest(_ name: String) -> (exclude: [String], resources: [Resource]?) {
    guard withPrivacyManifest.contains(name) else { return ([], nil) }
    #if os(Linux)
    return (["PrivacyInfo.xcprivacy"], nil)
    #else
    return ([], [.copy("PrivacyInfo.xcprivacy")])
    #endif
}

/// A target of `Sources/`: the SDK without any network.
func sdk(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    let privacy = privacyManifest(name)
    return .target(
        name: name, dependencies: dependencies, exclude: privacy.exclude, resources: privacy.resources,
        swiftSettings: settings)
}

/// A target of `Plugins/`.
///
/// Package access is off, so a first-party plug-in has no privilege that a third party lacks. It is on for the network
/// transports, their codecs and the server that is tested against them, which share what belongs to their wires, for the
/// event loop under them, which shares the timers and threads of the runtime, for the renewal of tokens, which is the
/// core's own, offered as a service, and for the inspector, which shows the inside of the SDK: what the core keeps to
/// itself is `internal`, and out of reach of any plug-in.
func plugin(
    _ kind: String, _ name: String, _ dependencies: [Target.Dependency], packageAccess: Bool = false
) -> Target {
    let privacy = privacyManifest(name)
    return .target(
        name: name, dependencies: dependencies, path: "Plugins/\(kind)/\(name)", exclude: privacy.exclude,
        resources: privacy.resources, packageAccess: packageAccess, swiftSettings: settings)
}

func test(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .testTarget(
        name: "\(name)Tests", dependencies: dependencies, path: "Tests/\(name)Tests", exclude: exclude,
        swiftSettings: settings)
}

let products: [Product] = [
    // One import for an app.
    .library(name: "LinkspanKit", targets: ["LinkspanKit"]),
    .library(name: "Linkspan", targets: ["Linkspan"]),
    .library(name: "LinkspanRuntime", targets: ["LinkspanRuntime"]),
    .library(name: "LinkspanLifecycle", targets: ["LinkspanLifecycle"]),
    .library(name: "LinkspanMessaging", targets: ["LinkspanMessaging"]),
    .library(name: "LinkspanConfiguration", targets: ["LinkspanConfiguration"]),
    .library(name: "LinkspanConfigurationCommand", targets: ["LinkspanConfigurationCommand"]),
    .library(name: "LinkspanTesting", targets: ["LinkspanTesting"]),
    .library(name: "LinkspanInMemory", targets: ["LinkspanInMemory"]),
    .library(name: "LinkspanWebSocket", targets: ["LinkspanWebSocket"]),
    .library(name: "LinkspanSocketIO", targets: ["LinkspanSocketIO"]),
    .library(name: "LinkspanDevServer", targets: ["LinkspanDevServer"]),
    .library(name: "LinkspanLogging", targets: ["LinkspanLogging"]),
    .library(name: "LinkspanPlatform", targets: ["LinkspanPlatform"]),
    .library(name: "LinkspanMetrics", targets: ["LinkspanMetrics"]),
    .library(name: "LinkspanTracing", targets: ["LinkspanTracing"]),
    .library(name: "LinkspanPresence", targets: ["LinkspanPresence"]),
    .library(name: "LinkspanTokenRefresh", targets: ["LinkspanTokenRefresh"]),
    .library(name: "LinkspanJournal", targets: ["LinkspanJournal"]),
    .library(name: "LinkspanInspector", targets: ["LinkspanInspector"]),
    .library(name: "LinkspanServiceLifecycle", targets: ["LinkspanServiceLifecycle"]),
    .library(name: "LinkspanCombine", targets: ["LinkspanCombine"]),
    .library(name: "LinkspanObservation", targets: ["LinkspanObservation"]),
    .library(name: "LinkspanOutbox", targets: ["LinkspanOutbox"]),
    .library(name: "LinkspanOutboxCrypto", targets: ["LinkspanOutboxCrypto"]),
    .library(name: "LinkspanEncryption", targets: ["LinkspanEncryption"]),
    // What TLS, proxies and compression are configured with, and what another back end implements.
    .library(name: "LinkspanNetwork", targets: ["LinkspanNetwork", "LinkspanWebSocketProtocol"]),
    // For apps that run sockets on loops of their own.
    .library(name: "LinkspanLWS", targets: ["LinkspanLWS"]),
    .library(name: "LinkspanNIO", targets: ["LinkspanNIO"]),
]

let sources: [Target] = [
    .systemLibrary(name: "CLinkspanRuntime"),
    sdk("LinkspanRuntime", ["CLinkspanRuntime", heap]),
    sdk("LinkspanLifecycle", ["LinkspanRuntime", deque]),
    sdk("Linkspan", ["LinkspanRuntime", "CLinkspanRuntime", logging, deque, heap]),
    sdk("LinkspanMessaging", ["Linkspan", "LinkspanLifecycle", "LinkspanRuntime"]),
    sdk("LinkspanConfiguration", ["LinkspanMessaging", "Linkspan", "LinkspanLifecycle", "LinkspanRuntime", yams]),
    sdk("LinkspanTesting", ["Linkspan", "LinkspanRuntime", "CLinkspanRuntime", deque]),
]

let plugins: [Target] = [
    plugin("Transports", "LinkspanInMemory", ["Linkspan", "LinkspanRuntime", deque]),
    plugin(
        "Transports", "LinkspanWebSocket",
        ["Linkspan", "LinkspanRuntime", "LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanBackEnds"],
        packageAccess: true),
    plugin(
        "Transports", "LinkspanSocketIO",
        ["Linkspan", "LinkspanRuntime", "LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanBackEnds", deque],
        packageAccess: true),
    plugin(
        "Kit", "LinkspanKit",
        [
            "Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanConfiguration", "LinkspanInMemory",
            "LinkspanSocketIO", "LinkspanWebSocket",
        ]),
    plugin(
        "CommandLine", "LinkspanConfigurationCommand",
        ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanConfiguration", argumentParser]),
    plugin(
        "Servers", "LinkspanDevServer",
        [
            "Linkspan", "LinkspanRuntime", "LinkspanInMemory", "LinkspanSocketIO", "LinkspanWebSocket",
            "LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanBackEnds", deque,
        ],
        packageAccess: true),
    plugin(
        "Services", "LinkspanLogging",
        ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime", logging]),
    plugin("Services", "LinkspanPlatform", ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime"]),
    plugin(
        "Services", "LinkspanMetrics",
        ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime", metrics]),
    plugin(
        "Services", "LinkspanTracing",
        ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime", tracing]),
    plugin("Services", "LinkspanPresence", ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime"]),
    plugin(
        "Services", "LinkspanTokenRefresh", ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime"],
        packageAccess: true),
    plugin(
        "Services", "LinkspanJournal", ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime", deque]),
    plugin(
        "Services", "LinkspanInspector",
        [
            "Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime", "LinkspanJournal",
            "LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanBackEnds", deque,
        ],
        packageAccess: true),
    plugin(
        "Bridges", "LinkspanServiceLifecycle",
        ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", serviceLifecycle]),
    plugin("Bridges", "LinkspanCombine", ["Linkspan", "LinkspanRuntime", deque, openCombine]),
    plugin("Bridges", "LinkspanObservation", ["Linkspan", "LinkspanRuntime"]),
    plugin(
        "Stores", "LinkspanOutbox", ["Linkspan", "LinkspanMessaging", "LinkspanRuntime", logging, metrics, grdb]),
    plugin("Stores", "LinkspanOutboxCrypto", ["LinkspanOutbox", crypto]),
    plugin("Interceptors", "LinkspanEncryption", ["Linkspan", crypto]),
    .systemLibrary(
        name: "CLibwebsockets", path: "Plugins/Support/CLibwebsockets", pkgConfig: "libwebsockets",
        providers: [.apt(["libwebsockets-dev"]), .brew(["libwebsockets"])]),
    .systemLibrary(
        name: "CZlib", path: "Plugins/Support/CZlib", pkgConfig: "zlib",
        providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]),
    plugin(
        "Support", "LinkspanLWS",
        [
            .target(name: "CLibwebsockets", condition: .when(traits: ["LWS"])), "LinkspanNetwork", "LinkspanRuntime",
            "CLinkspanRuntime",
        ],
        packageAccess: true),
    plugin("Support", "LinkspanNIO", ["LinkspanNetwork", "LinkspanRuntime"] + nio, packageAccess: true),
    plugin(
        "Support", "LinkspanBackEnds", ["LinkspanNetwork", "LinkspanRuntime", "LinkspanLWS", "LinkspanNIO"],
        packageAccess: true),
    plugin("Support", "LinkspanWebSocketProtocol", ["CZlib"], packageAccess: true),
    plugin(
        "Support", "LinkspanNetwork", ["Linkspan", "LinkspanWebSocketProtocol", "LinkspanRuntime", "CLinkspanRuntime"],
        packageAccess: true),
]

/// The README's first program; its top level needs macOS 15, which a package of one's own would say.
let firstSteps: [Target] = {
    #if os(Linux)
    [
        .executableTarget(
            name: "first-steps",
            dependencies: ["LinkspanKit", "LinkspanDevServer"],
            path: "Samples/FirstSteps", exclude: ["app.yaml"], packageAccess: false, swiftSettings: settings)
    ]
    #else
    []
    #endif
}()

let samples: [Target] = [
    .executableTarget(
        name: "chat",
        dependencies: [
            "Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanConfiguration", "LinkspanInMemory",
            "LinkspanWebSocket",
            "LinkspanSocketIO", "LinkspanDevServer", "LinkspanNetwork", "LinkspanLogging", "LinkspanOutbox",
            "LinkspanInspector", "LinkspanConfigurationCommand", "LinkspanPresence", logging, argumentParser,
        ],
        path: "Samples/Chat",
        exclude: [
            "README.md", "PROTOCOL.md", "requirements.txt", "chat.yaml", "cluster.sh", "front.py", "server.py",
            "chat_hub.py",
            "chat_history.py", "local_backplane.py", "redis_backplane.py", "redis_history.py", "redis_presence.py",
            "socketio_front.py", "websocket_front.py", "record", "recording.svg",
        ],
        packageAccess: false, swiftSettings: settings),
    // Programs as a new user writes them, with tests.
    .target(
        name: "Ports", dependencies: ["LinkspanKit", "LinkspanNetwork", "LinkspanRuntime"], path: "Samples/Ports",
        exclude: ["README.md", "Service/service.yaml"], packageAccess: false, swiftSettings: settings),
]

let benchmarks: [Target] = [
    .executableTarget(
        name: "echo-server", path: "Benchmarks/EchoServer", packageAccess: false,
        // OpenSSL comes with libwebsockets.
        cSettings: [.define("ECHO_SERVER_TLS", .when(platforms: [.linux], traits: ["LWS"]))],
        linkerSettings: ["ssl", "crypto"].map { .linkedLibrary($0, .when(platforms: [.linux], traits: ["LWS"])) }),
    .executableTarget(
        name: "workloads",
        dependencies: [
            "Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanInMemory", "LinkspanWebSocket",
            "LinkspanSocketIO", "LinkspanNetwork", "LinkspanOutbox", "LinkspanInspector",
            sqlite,
        ],
        path: "Benchmarks/Workloads", packageAccess: false, swiftSettings: settings),
]

let tests: [Target] = [
    // What `make conformance` has judged by the Autobahn test suite.
    .executableTarget(
        name: "conformance-client",
        dependencies: ["LinkspanRuntime", "LinkspanBackEnds", "LinkspanNetwork", "LinkspanWebSocketProtocol"],
        path: "Tests/Conformance/Client", swiftSettings: settings),
    // A process that is over soon.
    .executableTarget(
        name: "quick-exit", dependencies: ["Linkspan", "LinkspanMessaging", "LinkspanNetwork", "LinkspanSocketIO"],
        path: "Tests/Exits", packageAccess: false, swiftSettings: settings),
    // The client that the tests of the outbox kill.
    .executableTarget(
        name: "outbox-client",
        dependencies: ["LinkspanOutbox", "Linkspan", "LinkspanRuntime", "LinkspanSocketIO", "LinkspanWebSocket"],
        path: "Tests/OutboxClient", packageAccess: false, swiftSettings: settings),
    test("LinkspanRuntime", ["LinkspanRuntime"]),
    test("LinkspanLifecycle", ["LinkspanLifecycle", "LinkspanRuntime", "LinkspanTesting"]),
    test(
        "Linkspan", ["Linkspan", "LinkspanTesting", "LinkspanInMemory", "LinkspanRuntime", "EventJournal", logging]),
    test(
        "LinkspanMessaging",
        ["LinkspanMessaging", "Linkspan", "LinkspanLifecycle", "LinkspanTesting", "LinkspanRuntime"]),
    test(
        "LinkspanConfiguration",
        [
            "LinkspanConfiguration", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanInMemory",
            "LinkspanLogging",
            "LinkspanRuntime", "LinkspanTesting", logging,
        ]),
    test(
        "LinkspanLogging",
        [
            "LinkspanLogging", "ServiceFixtures", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging",
            "LinkspanConfiguration",
            "LinkspanRuntime",
            logging,
        ]),
    test(
        "LinkspanPlatform",
        [
            "LinkspanPlatform", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanRuntime",
            "LinkspanTesting",
            "ServiceFixtures",
        ]),
    // What the tests of services share.
    // What has happened so far, for tests against servers.
    .target(
        name: "EventJournal", dependencies: ["LinkspanRuntime"], path: "Tests/EventJournal", swiftSettings: settings),
    .target(
        name: "ServiceFixtures",
        dependencies: ["Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanConfiguration"],
        path: "Tests/ServiceFixtures", swiftSettings: settings),
    test(
        "LinkspanMetrics",
        [
            "LinkspanMetrics", "ServiceFixtures", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging",
            "LinkspanConfiguration", metrics,
            .product(
                name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics", "Outbox"])),
        ]),
    test(
        "LinkspanTracing",
        [
            "LinkspanTracing", "ServiceFixtures", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging",
            "LinkspanConfiguration",
            "LinkspanInMemory", "LinkspanTesting", tracing,
            .product(
                name: "InMemoryTracing", package: "swift-distributed-tracing", condition: .when(traits: ["Tracing"])),
        ]),
    test(
        "LinkspanPresence",
        [
            "LinkspanPresence", "ServiceFixtures", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging",
            "LinkspanInMemory",
            "LinkspanTesting",
        ]),
    test(
        "LinkspanTokenRefresh",
        [
            "LinkspanTokenRefresh", "ServiceFixtures", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging",
            "LinkspanRuntime", "LinkspanTesting",
        ]),
    test("LinkspanJournal", ["LinkspanJournal", "ServiceFixtures", "LinkspanLifecycle", "LinkspanMessaging"]),
    test(
        "LinkspanServiceLifecycle",
        [
            "LinkspanServiceLifecycle", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanInMemory",
            "LinkspanRuntime", "LinkspanTesting", logging,
            serviceLifecycle,
            .product(
                name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle",
                condition: .when(traits: ["ServiceLifecycle"])),
        ]),
    test(
        "LinkspanCombine",
        [
            "LinkspanCombine", "LinkspanObservation", "Linkspan", "LinkspanInMemory", "LinkspanRuntime",
            "LinkspanDevServer", "LinkspanSocketIO", "LinkspanTesting", "EventJournal",
            openCombine,
            .product(
                name: "OpenCombineDispatch", package: "OpenCombine",
                condition: .when(platforms: [.linux], traits: ["OpenCombine"])),
        ]),
    test("LinkspanObservation", ["LinkspanObservation", "Linkspan", "LinkspanInMemory", "LinkspanTesting"]),
    // Where the tests of the outbox have their files.
    .target(name: "OutboxFixtures", path: "Tests/OutboxFixtures", swiftSettings: settings),
    // A file system for SQLite that tells what is written and when.
    .target(
        name: "CRecordingDisk", dependencies: [sqlite],
        path: "Tests/CRecordingDisk"),
    test(
        "LinkspanOutbox",
        [
            metrics,
            .product(
                name: "MetricsTestKit", package: "swift-metrics", condition: .when(traits: ["Metrics", "Outbox"])),
            "LinkspanOutbox", "OutboxFixtures", "CRecordingDisk", "Linkspan", "LinkspanRuntime", "LinkspanInMemory",
            "LinkspanTesting", "LinkspanMessaging", "LinkspanConfiguration", logging, grdb,
            sqlite,
        ]),
    test("LinkspanEncryption", ["LinkspanEncryption", "Linkspan", "LinkspanInMemory", "LinkspanTesting", crypto]),
    test("LinkspanOutboxCrypto", ["LinkspanOutboxCrypto", "LinkspanOutbox", "Linkspan", "LinkspanRuntime", crypto]),
    test(
        "LinkspanOutboxKill",
        [
            "outbox-client", "OutboxFixtures", "Linkspan", "LinkspanRuntime", "LinkspanTesting", "LinkspanDevServer",
            "LinkspanInMemory", "EventJournal", grdb,
        ]),
    // Which back ends of byte streams a test runs over.
    .target(
        name: "TestedBackEnds",
        dependencies: ["LinkspanBackEnds", "LinkspanNIO", "LinkspanNetwork", "LinkspanRuntime"],
        path: "Tests/TestedBackEnds", swiftSettings: settings),
    // What every byte-stream back end has to do.
    test(
        "ByteStream",
        [
            "LinkspanBackEnds", "LinkspanLWS", "LinkspanNIO", "LinkspanNetwork", "LinkspanRuntime", "Linkspan",
            "TestedBackEnds",
        ]),
    test("LinkspanWebSocketProtocol", ["LinkspanWebSocketProtocol", "LinkspanTesting"]),
    test("LinkspanNetwork", ["LinkspanNetwork", "Linkspan", "LinkspanWebSocketProtocol", "LinkspanRuntime"]),
    test("LinkspanWebSocket", ["LinkspanWebSocket", "Linkspan", "LinkspanNetwork", "LinkspanWebSocketProtocol"]),
    test(
        "LinkspanDevServer",
        [
            "LinkspanDevServer", "Linkspan", "LinkspanMessaging", "LinkspanConfiguration", "LinkspanInMemory",
            "LinkspanSocketIO",
            "LinkspanWebSocket", "LinkspanRuntime", "LinkspanBackEnds", "LinkspanTesting", "LinkspanWebSocketProtocol",
            "LinkspanNetwork", "EventJournal", "TestedBackEnds", "RawSockets",
        ]),
    // Connections of which each byte is a test's own.
    .target(name: "RawSockets", dependencies: [], path: "Tests/RawSockets", swiftSettings: settings),
    test(
        "LinkspanInspector",
        [
            "LinkspanInspector", "LinkspanNetwork", "Linkspan", "LinkspanLifecycle", "LinkspanMessaging",
            "LinkspanInMemory", "LinkspanConfiguration", "LinkspanDevServer", "LinkspanWebSocket", "LinkspanRuntime",
            "ServiceFixtures", "RawSockets", "EventJournal",
        ]),
    test(
        "LinkspanSocketIO",
        ["LinkspanSocketIO", "Linkspan", "LinkspanNetwork", "LinkspanRuntime", "LinkspanTesting"],
        exclude: ["Exchanges"]),
    .testTarget(
        name: "DocumentationTests",
        dependencies: [
            "Linkspan", "LinkspanLifecycle", "LinkspanMessaging", "LinkspanConfiguration", "LinkspanInMemory",
            "LinkspanSocketIO", "LinkspanNetwork",
            "LinkspanWebSocket", "LinkspanTesting", "LinkspanRuntime", "LinkspanLogging", "LinkspanMetrics",
            "LinkspanTracing", "LinkspanJournal", "LinkspanPresence", "LinkspanTokenRefresh", "LinkspanInspector",
            "LinkspanServiceLifecycle", "LinkspanCombine", "LinkspanObservation", "LinkspanDevServer", "LinkspanOutbox",
            "LinkspanKit", "LinkspanOutboxCrypto", "LinkspanPlatform", "LinkspanEncryption",
            "LinkspanConfigurationCommand", argumentParser, crypto, logging, openCombine, serviceLifecycle,
            .product(
                name: "UnixSignals", package: "swift-service-lifecycle", condition: .when(traits: ["ServiceLifecycle"])),
        ],
        path: "Tests/DocumentationTests", swiftSettings: settings),
    .testTarget(
        name: "ChatTests",
        dependencies: firstSteps.map { .target(name: $0.name) } + [
            "chat", "Linkspan", "LinkspanRuntime", "LinkspanConfiguration", "LinkspanMessaging", "LinkspanInMemory",
            "LinkspanSocketIO", "LinkspanWebSocket", "LinkspanDevServer", "LinkspanTesting", "RawSockets",
        ],
        path: "Tests/ChatTests", exclude: ["echo.py", "listener.py"],
        swiftSettings: settings),
    .testTarget(
        name: "PortsTests",
        dependencies: ["Ports", "LinkspanKit", "LinkspanDevServer", "LinkspanNetwork", "LinkspanTesting"],
        path: "Tests/PortsTests", swiftSettings: settings),
    .testTarget(
        name: "InteropTests",
        dependencies: [
            "quick-exit", "Linkspan", "LinkspanRuntime", "LinkspanTesting", "LinkspanWebSocket", "LinkspanSocketIO",
            "LinkspanBackEnds", "LinkspanNetwork", "LinkspanWebSocketProtocol", "LinkspanLifecycle",
            "LinkspanMessaging", "LinkspanLogging", logging,
            "LinkspanDevServer", "LinkspanInMemory", "EventJournal", "LinkspanOutbox", "OutboxFixtures",
        ],
        path: "Tests/Interop", exclude: ["servers"], swiftSettings: settings),
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
    targets: sources + plugins + samples + firstSteps + benchmarks + tests + fuzzing
)
