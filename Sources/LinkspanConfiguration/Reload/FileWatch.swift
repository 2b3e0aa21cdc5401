/// Decides from looks at a file when it has changed and the change is complete.
///
/// Editors write a new file and rename it, or empty the old one and fill it again; a file is complete when two reads
/// in a row are equal.
struct FileWatch: Sendable {
    /// The content that was applied or rejected.
    private var known: FileLook.Content?
    /// New content that was read once.
    private var candidate: FileLook?

    init(known: FileLook.Content?) { self.known = known }

    /// Returns true, once for each change, when the file has changed completely.
    mutating func see(_ look: FileLook) -> Bool {
        guard look.content != self.known else {
            self.candidate = nil
            return false
        }
        guard look == self.candidate else {
            self.candidate = look
            return false
        }
        self.accept(look.content)
        return true
    }

    /// Records that this content was handled.
    mutating func accept(_ content: FileLook.Content) {
        self.known = content
    }
}
