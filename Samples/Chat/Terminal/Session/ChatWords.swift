import LinkspanTerminal

/// What Tab completes in a line of the chat.
struct ChatWords: CompletionWords {
    /// People, those who spoke last first.
    var people: [String] = []
    /// Rooms that are known by name.
    var rooms: [String] = []
    /// The adapters that may carry the session.
    var transports: [String] = []

    func known(after before: String, _ word: String) -> (known: [String], suffix: String) {
        guard before.hasPrefix("/"), !before.hasPrefix("//") else {
            if before.isEmpty, word.hasPrefix("/") { return (ChatInput.commands, " ") }
            return (self.people, before.isEmpty ? ": " : " ")
        }
        let parts = before.split(separator: " ")
        guard parts.count == 1 else { return (parts.first == "/msg" ? self.people : [], " ") }
        return switch parts.first {
        case "/join", "/leave": (self.rooms, "")
        case "/transport": (self.transports, "")
        case "/mouse": (["on", "off"], "")
        case "/msg", "/nick", "/search": (self.people, " ")
        default: ([], "")
        }
    }
}
