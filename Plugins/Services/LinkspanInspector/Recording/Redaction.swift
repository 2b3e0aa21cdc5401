/// Leaves secrets out of the excerpts of payloads that a developer has asked to see.
///
/// A member whose name sounds like a credential loses its value, and so does a string that looks like a token, whatever
/// its name. It is a help and no guarantee, which is why payloads are off unless configuration asks for them.
package enum Redaction {
    /// Parts of names in lower case that tell of a credential.
    private static let words = [
        "token", "secret", "password", "passwd", "passphrase", "authorization", "auth", "apikey", "api_key", "api-key",
        "cookie", "credential", "session", "bearer", "jwt", "private", "signature", "otp", "pin",
    ]

    /// The excerpt of arguments that are `count` bytes long, with "…" where something is left out.
    package static func excerpt(_ bytes: [UInt8], of count: Int) -> String {
        var output: [UInt8] = []
        var rest = bytes[...]
        while let byte = rest.first {
            guard byte == UInt8(ascii: "\"") else {
                output.append(byte)
                rest = rest.dropFirst()
                continue
            }
            let string = Self.string(&rest)
            output += Self.isToken(string) ? Array(#""…""#.utf8) : string
            let space = rest.prefix { $0 == 32 || $0 == 9 || $0 == 10 || $0 == 13 }
            guard rest.dropFirst(space.count).first == UInt8(ascii: ":"), Self.isSecret(string) else { continue }
            output += space + [UInt8(ascii: ":")] + Array(#""…""#.utf8)
            rest = rest.dropFirst(space.count + 1)
            Self.skipValue(&rest)
        }
        var text = String(decoding: output, as: UTF8.self)
        if count > bytes.count { text += "…" }
        return text
    }

    /// Takes a string with its quotes; without the last one when the excerpt ends inside.
    private static func string(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
        var taken: [UInt8] = [UInt8(ascii: "\"")]
        rest = rest.dropFirst()
        while let byte = rest.popFirst() {
            taken.append(byte)
            if byte == UInt8(ascii: "\\"), let escaped = rest.popFirst() {
                taken.append(escaped)
            } else if byte == UInt8(ascii: "\"") {
                break
            }
        }
        return taken
    }

    /// Skips a value, with all that is inside it.
    private static func skipValue(_ rest: inout ArraySlice<UInt8>) {
        var depth = 0
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "\""):
                _ = Self.string(&rest)
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0: return
            default: ()
            }
            rest = rest.dropFirst()
        }
    }

    /// Whether a quoted string is a value of `Authorization`, or a JSON Web Token.
    private static func isToken(_ string: [UInt8]) -> Bool {
        let text = String(decoding: string.dropFirst(), as: UTF8.self)
        if text.hasPrefix("eyJ") { return true }
        let scheme = text.prefix { $0 != " " }
        return scheme.utf8.count < text.utf8.count && ["basic", "bearer"].contains(scheme.lowercased())
    }

    private static func isSecret(_ name: [UInt8]) -> Bool {
        // An escape could hide any name.
        guard !name.contains(UInt8(ascii: "\\")) else { return true }
        let name = String(decoding: name, as: UTF8.self).lowercased()
        return Self.words.contains { name.contains($0) }
    }
}
