/// What a submitted line asks for.
enum ChatInput: Hashable, Sendable {
    case say(String)
    case join(String)
    /// Leaves the room, or the current one.
    case leave(String?)
    case who
    case nick(String)
    case transport(String)
    case offline
    case online
    case explain
    case outbox
    case help
    case quit
    /// It cannot be done; the sentence says why.
    case mistake(String)

    /// What may be typed, for `/help`.
    static let manual = """
        /join ROOM        join a room
        /leave [ROOM]     leave the room, or the current one
        /who              list the people in the room
        /nick NAME        change your name
        /transport NAME   switch to memory, socketio or websocket
        /offline /online  disconnect; connect again
        /explain          report the state of the connection
        /outbox           list the lines in the outbox
        /quit             leave, like Ctrl-C and Ctrl-D
        //text            say "/text"
        Up, Down          earlier input
        Page Up, Down     scroll
        """

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
        case "/transport": self.needing(argument, "/transport needs memory, socketio or websocket", Self.transport)
        case "/who": .who
        case "/offline": .offline
        case "/online": .online
        case "/explain": .explain
        case "/outbox": .outbox
        case "/help": .help
        case "/quit", "/exit": .quit
        default: .mistake("unknown command \(name); /help lists the commands")
        }
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
