import ArgumentParser
import Foundation
import LinkspanConfiguration
import LinkspanTerminal

/// The flags that say where the configuration comes from.
@available(macOS 15, *)
struct ChatConfigurationFlags: ParsableArguments {
    @Option(
        help: """
            The transport: memory, socketio or websocket. Overrides the configuration; without either, the scheme of --url \
            chooses it.
            """)
    var transport: String?

    @Option(
        name: .customLong("protocol"),
        help: """
            What the messages of the transport websocket mean: json, for a server of the chat, or mqtt or nats, for a \
            broker. Overrides the configuration, whose default is json.
            """)
    var messages: String?

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
            transport: self.transport, messages: self.messages, url: self.url, network: self.network.network)
    }
}
