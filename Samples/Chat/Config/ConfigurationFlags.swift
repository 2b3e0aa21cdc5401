import ArgumentParser
import Foundation
import LinkspanConfiguration
import LinkspanNetwork

/// The flags that say where the configuration comes from.
@available(macOS 15, *)
struct ChatConfigurationFlags: ParsableArguments {
    @Option(
        help: """
            The transport: memory, socketio or websocket. Overrides the configuration; without either, the scheme of --url \
            chooses it.
            """)
    var transport: String?

    @Option(help: "The endpoint. Overrides the configuration.")
    var url: String?

    @OptionGroup var network: NetworkFlag

    @Option(
        help: """
            A configuration file, YAML or JSON. Without it, linkspan-chat/chat.yaml in $XDG_CONFIG_HOME or ~/.config is \
            read, if it is there.
            """)
    var config: String?

    /// The configuration that a visit with these flags would have.
    var configuration: ChatConfiguration {
        ChatConfiguration(
            file: self.config ?? UserFile(environment: ProcessInfo.processInfo.environment).path,
            transport: self.transport, url: self.url, network: self.network.network)
    }

    /// The loader of a user who never enters.
    var loader: ConfigurationLoader {
        self.configuration.loader(for: Visitor(name: "nobody", room: "lobby"), ChatNews())
    }

    /// The sources of that configuration.
    var sources: ConfigurationSources { self.configuration.sources }
}

/// The flag that says which library carries bytes.
struct NetworkFlag: ParsableArguments {
    @Option(help: "The library that carries bytes: libwebsockets or nio. Overrides the configuration.")
    var network: String?

    /// The library, or the usual one.
    var backEnd: NetworkBackEnd { self.network.map { NetworkBackEnd(rawValue: $0) } ?? .standard }

    func validate() throws {
        // Without `--network`, the back end's own error names the missing trait.
        if self.network != nil, let absence = self.backEnd.absence { throw ValidationError(absence) }
    }
}
