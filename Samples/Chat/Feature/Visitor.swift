import Linkspan

/// Somebody who visits a room, and how much of its conversation they have seen.
struct Visitor: Sendable {
    let name: String
    let room: String
    let bookmark = Bookmark()
    /// Tells this visit's lines from all others.
    let session = String(UInt64.random(in: .min ... .max), radix: 36)

    /// What the server is told at each entry: who comes, and which line they saw last.
    var credentials: CredentialSource {
        let (name, room, bookmark) = (self.name, self.room, self.bookmark)
        return .provider { _ in
            let seen = await bookmark.position.map { [room: $0] }
            return try Credentials(auth: ChatVocabulary.Entry(name: name, rooms: [room], seen: seen))
        }
    }
}

/// The number of the last line that was seen.
actor Bookmark {
    private(set) var position: Int?

    /// The server says where we stand, or a line was seen.
    ///
    /// What it says counts, even if it goes back: then the server has lost its history and begins anew.
    func move(to position: Int) { self.position = position }
}
