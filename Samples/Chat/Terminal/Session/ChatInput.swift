import LinkspanTerminal

/// What a submitted line asks for; `RequestQueue` carries it out.
enum ChatInput: Hashable, Sendable {
    case say(String)
    case join(String)
    /// Leaves the room, or the current one.
    case leave(String?)
    case who
    case nick(String)
    /// Says something to one person alone.
    case message(String, text: String)
    /// Gives the room a topic, or shows the one it has.
    case topic(String?)
    case transport(String, url: String?)
    case offline
    case online
    case explain
    case outbox
    /// Searches the conversation, or goes on.
    case search(String?)
    /// Whether the wheel of the mouse scrolls.
    case mouse(Bool)
    case help
    case quit
    /// It cannot be done; the sentence says why.
    case mistake(String)

    /// Whether it is to be delivered to somebody.
    var isLine: Bool {
        switch self {
        case .say, .message: true
        default: false
        }
    }

    /// What may be typed, for `/help`.
    static let manual = """
        /join ROOM        join a room, or go back to it
        /leave [ROOM]     leave the room, or the current one
        /who              list the people in the room
        /nick NAME        change your name
        /msg NAME TEXT    say something to one person alone
        /topic [TEXT]     show the topic of the room, or set it; "-" removes it
        /search [TEXT]    find a text in the conversation; without one, the next older
        /transport NAME [URL]   switch to memory, socketio or websocket
        /offline /online  disconnect; connect again
        /explain          report the state of the connection
        /outbox           list the lines in the outbox
        /mouse on|off     scroll with the wheel, or leave the mouse to the terminal
        /quit             leave, like Ctrl-C and Ctrl-D
        //text            say "/text"
        Tab, Shift-Tab    complete a name, a room or a command
        Up, Down, Ctrl-R  earlier input; search in it
        Page Up, Page Down, wheel   scroll; Esc goes to the end
        Ctrl-Z            stop the chat until `fg`
        """

    /// The commands, for completion.
    static let commands = [
        "/explain", "/help", "/join", "/leave", "/mouse", "/msg", "/nick", "/offline", "/online", "/outbox", "/quit",
        "/search", "/topic", "/transport", "/who",
    ]

    /// Reads a line.
    ///
    /// Lines that were pasted together are said one after the other, and are never commands.
    static func read(_ text: String) -> [Self] {
        let lines = text.split(separator: "\n").map(String.init).filter { !$0.allSatisfy(\.isWhitespace) }
        guard lines.count == 1, let line = lines.first, line.hasPrefix("/") else { return lines.map(Self.say) }
        guard !line.hasPrefix("//") else { return [.say(String(line.dropFirst()))] }
        let words = line.split(separator: " ", maxSplits: 1)
        let argument = words.count > 1 ? words[1].trimmed : ""
        return [self.command(String(words[0]), argument)]
    }

    private static func command(_ name: String, _ argument: String) -> Self {
        switch name {
        case "/join": self.needing(argument, "/join needs a room name", Self.join)
        case "/leave": .leave(argument.isEmpty ? nil : argument)
        case "/nick": self.needing(argument, "/nick needs a name", Self.nick)
        case "/msg": self.twoParts(argument).map { .message($0, text: $1) } ?? .mistake("/msg needs a name and a text")
        case "/topic": .topic(argument.isEmpty ? nil : argument == "-" ? "" : argument)
        case "/search": .search(argument.isEmpty ? nil : argument)
        case "/transport": self.transport(argument)
        case "/mouse": self.mouse(argument)
        case "/who": .who
        case "/offline": .offline
        case "/online": .online
        case "/explain": .explain
        case "/outbox": .outbox
        case "/help": .help
        case "/quit", "/exit": .quit
        default:
            .mistake("unknown command \(name)\(Spelling.guess(name, among: self.commands)); /help lists the commands")
        }
    }

    private static func transport(_ argument: String) -> Self {
        let words = argument.split(separator: " ", maxSplits: 1).map(String.init)
        guard let name = words.first else { return .mistake("/transport needs memory, socketio or websocket") }
        return .transport(name, url: words.dropFirst().first)
    }

    private static func mouse(_ argument: String) -> Self {
        switch argument {
        case "on": .mouse(true)
        case "off": .mouse(false)
        default: .mistake("/mouse needs on or off")
        }
    }

    /// A name, in quotes if it has blanks, and what follows it.
    private static func twoParts(_ argument: String) -> (String, String)? {
        let isQuoted = argument.hasPrefix("\"")
        let parts = argument.split(separator: isQuoted ? "\"" : " ", maxSplits: 1, omittingEmptySubsequences: true)
        guard parts.count == 2, case let text = parts[1].trimmed, !text.isEmpty else { return nil }
        return (String(parts[0]), text)
    }

    private static func needing(_ argument: String, _ mistake: String, _ make: (String) -> Self) -> Self {
        argument.isEmpty ? .mistake(mistake) : make(argument)
    }
}

extension Substring {
    fileprivate var trimmed: String {
        let tail = self.drop { $0.isWhitespace }
        return String(tail.reversed().drop { $0.isWhitespace }.reversed())
    }
}
