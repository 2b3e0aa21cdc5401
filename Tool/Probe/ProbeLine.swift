import ArgumentParser
import Foundation
import Linkspan

/// What a line asks the probe to do.
enum ProbeLine: Sendable {
    /// Sends an event.
    case send(event: String, Payload)
    /// Sends an event, and prints the acknowledgement.
    case ask(event: String, Payload)
    /// Answers the latest event of the server that wants an acknowledgement.
    case answer(Payload)
    /// The sentence says why it cannot be done.
    case mistake(String)

    /// The lines of a probe, for its help text.
    static let manual = """
        Over Socket.IO a line is an event and its arguments: say {"room":"lobby"} 3 hex:00ff. Arguments are JSON, hex:…, \
        base64:… or file:PATH for binary, or else plain text. With ? in front the acknowledgement is printed; a line that \
        begins with ! acknowledges the latest event that asks for it. Over a raw WebSocket a line is a text message, and \
        /binary hex:… a binary one.
        """

    /// Reads a line for Socket.IO, or for envelopes with events.
    static func event(_ line: String) -> Self {
        var rest = line.trimmingCharacters(in: .whitespacesAndNewlines)[...]
        let mark = rest.first.flatMap { "?!".contains($0) ? $0 : nil }
        if mark != nil { rest = rest.dropFirst().drop(while: \.isWhitespace) }
        do throws(ValidationError) {
            if mark == "!" { return .answer(try ProbeArguments(rest).payload()) }
            let (event, arguments) = try self.split(rest)
            let payload = try ProbeArguments(arguments).payload()
            return mark == "?" ? .ask(event: event, payload) : .send(event: event, payload)
        } catch {
            return .mistake(error.message)
        }
    }

    /// Reads a line for a raw WebSocket.
    static func message(_ line: String) -> Self {
        do throws(ValidationError) {
            guard line.hasPrefix("/binary") else {
                let text = line.hasPrefix("//") ? String(line.dropFirst()) : line
                return .send(event: "text", (try? Payload(text)) ?? .empty)
            }
            let payload = try ProbeArguments(line.dropFirst(7)).payload()
            guard payload.attachments.count == 1, payload[1] == nil, payload[0]?.blob != nil else {
                throw ValidationError("/binary needs hex:…, base64:… or file:PATH")
            }
            return .send(event: "binary", payload)
        } catch {
            return .mistake(error.message)
        }
    }

    /// The name of an event, bare or in quotes, and what follows it.
    private static func split(_ line: Substring) throws(ValidationError) -> (String, Substring) {
        guard !line.isEmpty else { throw ValidationError("a line begins with the name of an event") }
        // As on the wire: ["say", {…}].
        if line.hasPrefix("[") {
            guard let list = try? PayloadValue(json: String(line)).elements, let name = list.first?.string else {
                throw ValidationError("a JSON array has to begin with the name of an event")
            }
            let rest = list.dropFirst().map { String(decoding: $0.text, as: UTF8.self) }.joined(separator: " ")
            return (name, rest[...])
        }
        let end = line.firstIndex { $0.isWhitespace } ?? line.endIndex
        return (String(line[..<end]), line[end...])
    }
}
