import ArgumentParser
import Foundation
import Linkspan
import LinkspanRuntime
import LinkspanTerminal

/// How messages are printed.
enum ProbeFormat: String, EnumerableFlag, Sendable {
    /// JSON in lines with indents, for people.
    case pretty
    /// One line for each message.
    case line
    /// One line of JSON for each message, for programs.
    case json

    static func help(for format: Self) -> ArgumentHelp? {
        switch format {
        case .pretty: "Prints JSON in lines with indents; the default at a terminal."
        case .line: "Prints one line for each message; the default elsewhere."
        case .json: "Prints one line of JSON for each message, for programs."
        }
    }

    /// A received event.
    enum Kind: Sendable {
        case event(wantsReply: Bool)
        /// The acknowledgement of an event of ours.
        case acknowledgement
    }

    /// The text for a message.
    ///
    /// Over a raw WebSocket there are no events, and a text is printed as it is. What could pass for another line is
    /// escaped or indented, except in JSON.
    func text(_ kind: Kind, _ event: String, _ payload: Payload, isRaw: Bool) -> String {
        if self == .json { return Self.json(kind, event, payload, isRaw: isRaw) }
        if isRaw { return self.raw(event, payload) }
        let event = ForeignText.line(event)
        let arguments = payload.values.map { self.argument($0) }
        let head =
            switch (self, kind) {
            case (.pretty, .event(let wantsReply)): "← \(event)\(wantsReply ? " (wants an acknowledgement: !)" : "")"
            case (.pretty, .acknowledgement): "← acknowledged \(event)"
            case (_, .event): event
            case (_, .acknowledgement): "ack \(event)"
            }
        return ([head] + arguments).joined(separator: self == .pretty ? "\n" : " ")
    }

    private func raw(_ event: String, _ payload: Payload) -> String {
        if let blob = payload[0]?.blob { return Self.hex(blob) }
        let text = payload[0]?.string ?? ""
        guard self == .pretty else { return ForeignText.line(text, limit: .max) }
        let isJSON = text.hasPrefix("{") || text.hasPrefix("[")
        guard isJSON, (try? PayloadValue(json: text)) != nil else {
            let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
            return "← \(lines.joined(separator: "\n  "))"
        }
        return "← \(PrettyJSON.lines(text))"
    }

    private func argument(_ value: PayloadValue) -> String {
        if let blob = value.blob { return Self.hex(blob) }
        let text = Self.text(value.text)
        return self == .pretty ? PrettyJSON.lines(text) : PrettyJSON.compact(text)
    }

    private static func json(_ kind: Kind, _ event: String, _ payload: Payload, isRaw: Bool) -> String {
        if isRaw {
            guard let blob = payload[0]?.blob else { return #"{"text":\#(Self.text(payload.elements))}"# }
            return #"{"binary":"\#(Data(blob).base64EncodedString())"}"#
        }
        let name = Self.text(((try? Payload(event)) ?? .empty).elements)
        var members: [String]
        switch kind {
        case .event(wantsReply: false): members = [#""event":\#(name)"#]
        case .event(wantsReply: true): members = [#""event":\#(name)"#, #""wantsAcknowledgement":true"#]
        case .acknowledgement: members = [#""acknowledges":\#(name)"#]
        }
        let arguments = payload.values.map { PrettyJSON.compact(Self.text($0.text)) }
        members.append(#""arguments":[\#(arguments.joined(separator: ","))]"#)
        if !payload.attachments.isEmpty {
            let blobs = payload.attachments.map { #""\#(Data($0).base64EncodedString())""# }
            members.append(#""attachments":[\#(blobs.joined(separator: ","))]"#)
        }
        return "{\(members.joined(separator: ","))}"
    }

    private static func text(_ bytes: ArraySlice<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func hex(_ bytes: ArraySlice<UInt8>) -> String {
        bytes.reduce(into: "hex:") { $0 += String($1 >> 4, radix: 16) + String($1 & 15, radix: 16) }
    }
}

/// What a probe prints: messages on standard output, all else on standard error, or both above a prompt.
@available(macOS 15, *)
struct ProbeOutput: Sendable {
    let format: ProbeFormat
    /// Whether messages have no names.
    let isRaw: Bool
    private let isQuiet: Bool
    /// Where lines are typed, at a terminal.
    let prompt: Prompt?
    private let status = Lock<String?>(nil)

    init(format: ProbeFormat, isRaw: Bool, isQuiet: Bool, terminal: TerminalDevice?) {
        (self.format, self.isRaw, self.isQuiet) = (format, isRaw, isQuiet)
        self.prompt = terminal.map { Prompt($0) }
    }

    /// A message.
    func show(_ kind: ProbeFormat.Kind, _ event: String, _ payload: Payload) {
        let text = self.format.text(kind, event, payload, isRaw: self.isRaw)
        self.print(text) { LineOutput.showLines(text) }
    }

    /// News of the connection.
    func tell(_ sentence: String) {
        if !self.isQuiet { self.print("* \(sentence)") { LineOutput.remark("* \(sentence)") } }
    }

    /// Something that is wrong.
    func complain(_ sentence: String) { self.print("* \(sentence)") { LineOutput.complain(sentence) } }

    /// Shows the state below the output, at a terminal.
    func show(status: String) {
        self.status.withLock { shown in
            shown = status
            StatusLine.show(status)
        }
    }

    /// Prints a text above the prompt, or by other means above the state.
    private func print(_ text: String, or print: () -> Void) {
        if let prompt = self.prompt { return prompt.print(text) }
        self.status.withLock { status in
            if status != nil { StatusLine.clear() }
            print()
            if let status { StatusLine.show(status) }
        }
    }

    /// Gives the terminal back.
    func end() async {
        if self.status.withLock({ $0 }) != nil { StatusLine.clear() }
        await self.prompt?.end()
    }
}
