import Linkspan
import LinkspanDevServer
import LinkspanTerminal

/// A fault of a server, provoked by a command.
enum ServerFault: Sendable, Hashable {
    case drop
    case stall(Bool)
    case kick(String)
    case refuse(Bool)
    case restart(seconds: Double)

    /// Reads a line; nil when it means nothing.
    init?(_ line: String) {
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        switch (words.first, words.dropFirst().first) {
        case ("drop", nil): self = .drop
        case ("stall", "on"): self = .stall(true)
        case ("stall", "off"): self = .stall(false)
        case ("kick", let name?): self = .kick(name)
        case ("refuse", "on"): self = .refuse(true)
        case ("refuse", "off"): self = .refuse(false)
        case ("restart", let text):
            guard let seconds = Double(text ?? "0"), (0...3_600).contains(seconds) else { return nil }
            self = .restart(seconds: seconds)
        default: return nil
        }
    }

    /// Makes it go wrong.
    @available(macOS 15, *)
    func apply(to server: DevServer, _ chat: ChatHub) async {
        switch self {
        case .drop: server.drop()
        case .stall(let isOn): server.stall(isOn)
        case .kick(let name): for peer in chat.peers(named: name) { server.kick(peer) }
        case .refuse(true): server.refuseCredentials(code: "closed", message: "the chat is closed")
        case .refuse(false): server.acceptCredentials()
        case .restart(let seconds):
            do throws(LinkspanError) {
                try await server.restart(after: .seconds(seconds))
            } catch {
                LineOutput.complain(error.message)
            }
        }
    }
}
