import Linkspan

/// What a probe prints: messages on standard output, all else on standard error, or both above a prompt.
@available(macOS 15, *)
struct ProbeOutput: Sendable {
    let format: ProbeFormat
    /// Whether messages have no names.
    let isRaw: Bool
    private let isQuiet: Bool
    /// Where lines are typed, at a terminal.
    let prompt: Prompt?

    init(format: ProbeFormat, isRaw: Bool, isQuiet: Bool, terminal: TerminalDevice?) {
        (self.format, self.isRaw, self.isQuiet) = (format, isRaw, isQuiet)
        self.prompt = terminal.map { Prompt($0) }
    }

    /// A message.
    func show(_ kind: ProbeFormat.Kind, _ event: String, _ payload: Payload) {
        let text = self.format.text(kind, event, payload, isRaw: self.isRaw)
        guard let prompt = self.prompt else { return LineOutput.showLines(text) }
        prompt.print(text)
    }

    /// News of the connection.
    func tell(_ sentence: String) {
        guard !self.isQuiet else { return }
        guard let prompt = self.prompt else { return LineOutput.remark("* \(sentence)") }
        prompt.print("* \(sentence)")
    }

    /// Something that is wrong.
    func complain(_ sentence: String) {
        guard let prompt = self.prompt else { return LineOutput.complain(sentence) }
        prompt.print("* \(sentence)")
    }

    /// Gives the terminal back.
    func end() async { await self.prompt?.end() }
}
