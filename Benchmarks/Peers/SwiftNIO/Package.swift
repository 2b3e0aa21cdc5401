// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "nio-echo",
    platforms: [.macOS(.v13)],
    dependencies: [.package(url: "https://github.com/apple/swift-nio.git", from: "2.80.0")],
    targets: [
        .executableTarget(
            name: "nio-echo",
            dependencies: ["NIOCore", "NIOPosix", "NIOHTTP1", "NIOWebSocket"].map {
                .product(name: $0, package: "swift-nio")
            })
    ]
)
