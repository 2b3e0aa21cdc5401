internal import Linkspan
internal import LinkspanNetwork

@testable internal import LinkspanSocketIO

extension FuzzTarget {
    /// What is built from the app's and the server's words: URL, header name and value, query name and value, namespace.
    ///
    /// A request that passes the check is read by a server as exactly the fields that were meant, and a namespace as
    /// exactly the one that was meant. No break of line and no NUL gets out.
    public static let request = Self(name: "request", maximumLength: 4096) { input throws(Violation) in
        let fields = FuzzInput.fields(input, 6)
        try RequestOracle.checkNamespace(fields[5])
        guard let url = try? ConnectionURL(fields[0]) else { return }
        try RequestOracle.checkURL(url)
        let credentials = Credentials(
            headers: [.init(fields[1], Secret(fields[2]))], query: [.init(fields[3], Secret(fields[4]))])
        let link = LinkRequest(url: url, credentials: credentials)
        let request = StreamRequest(
            link, path: "/socket.io/", query: [("EIO", "4"), ("transport", "websocket")], tls: .system)
        do throws(ByteStreamError) {
            try request.validated()
        } catch {
            // The name of a header may be told, and it may happen to be what another field says.
            let words = "\(error) \(String(reflecting: error))".replacing(fields[1], with: "")
            try require(fields[2].utf8.count < 16 || !words.contains(fields[2]), "an error quotes a header's value")
            try require(fields[4].utf8.count < 16 || !words.contains(fields[4]), "an error quotes a query's value")
            return
        }
        try RequestOracle.checkRequest(request, url, header: (fields[1], fields[2]), item: (fields[3], fields[4]))
    }
}

private enum RequestOracle {
    static func checkURL(_ url: ConnectionURL) throws(Violation) {
        try require((try? ConnectionURL(url.text)) == url, "the canonical form is not canonical")
        try require(url.text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "a URL has a character that breaks lines")
        try require(url.path.hasPrefix("/") && !url.path.contains("?") && !url.path.contains("#"), "a path is none")
        try require((0...65_535).contains(url.port), "a port is none")
        let bare = try? ConnectionURL(url.description)
        try require(bare?.query == nil && bare?.description == url.description, "a description shows the query")
        try require(bare.map { String(reflecting: $0) } == String(reflecting: url), "a reflection shows the query")
    }

    static func checkNamespace(_ name: String) throws(Violation) {
        guard let namespace = try? SocketIONamespace(name) else { return }
        var frame: [UInt8] = []
        SocketIOEncoder.append(connect: Array("{}".utf8)[...], in: namespace, to: &frame)
        var decoder = SocketIODecoder()
        guard case .connect(let written, let payload)? = try? decoder.receive(text: frame.dropFirst()) else {
            throw Violation(message: "a namespace makes a CONNECT something else: \(FuzzInput.text(frame))")
        }
        try require(namespace.matches(written), "a namespace does not find itself")
        try require(FuzzInput.text(payload.elements) == "{}", "a namespace runs into the payload")
    }

    /// Reads the request as a server would, knowing nothing of how it was built.
    static func checkRequest(
        _ request: StreamRequest, _ url: ConnectionURL, header: (name: String, value: String),
        item: (name: String, value: String)
    ) throws(Violation) {
        let head = Array("GET \(request.target) HTTP/1.1\r\nHost: \(request.hostHeader)\r\n".utf8) + request.headerLines
        try require(!head.contains(0), "a NUL gets out")
        let lines = Self.lines(head)
        try require(lines.count == 3, "\(lines.count) lines instead of three: \(lines)")
        let words = lines[0].split(separator: " ", omittingEmptySubsequences: false)
        try require(words.count == 3 && words[0] == "GET" && words[2] == "HTTP/1.1", "the request line is \(lines[0])")
        try require(!lines[1].dropFirst(6).contains(" ") && lines[1].hasPrefix("Host: "), "the host is \(lines[1])")
        try require(lines[2] == "\(header.name): \(header.value)", "the header is \(lines[2])")
        let name = lines[2].prefix { $0 != ":" }
        try require(!name.isEmpty && !name.contains(" "), "the header's name is \(name)")
        let parts = words[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        try require(parts.count == 2 && parts[0] == "/socket.io/", "the target is \(words[1])")
        try Self.checkQuery(parts[1], url, item)
    }

    private static func checkQuery(
        _ query: Substring, _ url: ConnectionURL, _ item: (name: String, value: String)
    ) throws(Violation) {
        let own = (url.query?.isEmpty ?? true) ? [] : [url.query ?? ""]
        let items = query.split(separator: "&", omittingEmptySubsequences: false).map(String.init)
        let ownItems = own.flatMap { $0.split(separator: "&", omittingEmptySubsequences: false).map(String.init) }
        let expected = ["EIO=4", "transport=websocket"] + ownItems
        try require(items.count == expected.count + 1 && Array(items.dropLast()) == expected, "the query is \(query)")
        let pair = (items.last ?? "").split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let isSame =
            pair.count == 2 && Self.decode(pair[0]).elementsEqual(item.name.utf8)
            && Self.decode(pair[1]).elementsEqual(item.value.utf8)
        try require(isSame, "the query's item is \(pair)")
    }

    /// Undoes percent-encoding.
    private static func decode(_ text: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            let digits = FuzzInput.text(rest.prefix(2))
            rest = rest.dropFirst(2)
            bytes.append(UInt8(digits, radix: 16) ?? 0)
        }
        return bytes
    }

    /// The lines of a head; CR, LF and both together end one, because servers differ.
    private static func lines(_ head: [UInt8]) -> [String] {
        var lines: [String] = []
        var line: [UInt8] = []
        for (index, byte) in head.enumerated() {
            if byte == 0x0A, index > 0, head[index - 1] == 0x0D { continue }
            guard byte != 0x0A, byte != 0x0D else {
                lines.append(FuzzInput.text(line))
                line = []
                continue
            }
            line.append(byte)
        }
        return line.isEmpty ? lines : lines + [FuzzInput.text(line)]
    }
}
