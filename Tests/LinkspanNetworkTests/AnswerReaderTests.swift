internal import LinkspanNetwork
internal import LinkspanRuntime
internal import Testing

@Suite("Answers as they come")
struct AnswerReaderTests {
    private static let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

    /// The body of an answer that comes in parts of so many bytes; nil when it is malformed, or not complete.
    private static func body(_ answer: String, parts size: Int = .max) -> [UInt8]? {
        var reader = AnswerReader(isExchange: true)
        var body: [UInt8] = []
        var left = Array(answer.utf8)[...]
        while true {
            switch reader.next() {
            case .more where left.isEmpty: return nil
            case .more:
                Array(left.prefix(size)).withUnsafeBytes { reader.append($0) }
                left = left.dropFirst(size)
            case .head: ()
            case .bytes(let piece): body += piece
            case .end: return body
            case .failed: return nil
            }
        }
    }

    /// The error with which an answer ends that comes in parts of so many bytes; nil when it has a head.
    private static func refusal(_ answer: String, parts size: Int) -> ByteStreamError? {
        var reader = AnswerReader(isExchange: false)
        var left = Array(answer.utf8)[...]
        while true {
            switch reader.next() {
            case .more where left.isEmpty: return ByteStreamError(.closedByPeer, "there is no more")
            case .more:
                Array(left.prefix(size)).withUnsafeBytes { reader.append($0) }
                left = left.dropFirst(size)
            case .failed(let error): return error
            case .head, .bytes, .end: return nil
            }
        }
    }

    @Test
    func `trailer fields may have 16 KiB together, and no more`() {
        let field = "A: " + String(repeating: "b", count: 8_189) + "\r\n"
        #expect(Self.body(Self.head + "1\r\na\r\n0\r\n\(field)\(field)\r\n") == Array("a".utf8))
        #expect(Self.body(Self.head + "1\r\na\r\n0\r\n\(field)c\(field)\r\n") == nil)
    }

    @Test(arguments: [16_384, 16_385, 20_000], [Int.max, 8_000, 1_000, 1])
    func `are refused for the length of their heads, whatever is behind and wherever they are cut`(
        length: Int, size: Int
    ) {
        let start = "HTTP/1.1 101 Switching Protocols\r\nX-Filler: "
        let head = start + String(repeating: "x", count: length - start.utf8.count - 4) + "\r\n\r\n"
        let error = Self.refusal(head + "behind", parts: size)
        guard length > 16_384 else {
            #expect(error == nil)
            return
        }
        #expect(error?.code == .answerHeadTooLong)
        #expect(error?.message == "the answer's head is larger than the 16384 bytes that are accepted here")
    }

    @Test(arguments: [16_384, 16_385])
    func `are refused for a chunk-size line that is too long and has no end yet`(length: Int) {
        var reader = AnswerReader(isExchange: true)
        let line = "1;" + String(repeating: "x", count: length - 2)
        Array((Self.head + line).utf8).withUnsafeBytes { reader.append($0) }
        _ = reader.next()
        switch reader.next() {
        case .more: #expect(length == 16_384)
        case .failed: #expect(length == 16_385)
        case .head, .bytes, .end: Issue.record("the line has no end")
        }
    }

    @Test(arguments: [Int.max, 1_000, 1])
    func `are refused behind too many interim ones, wherever they are cut`(size: Int) {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n"
        let answer = "HTTP/1.1 101 Switching Protocols\r\n\r\n"
        #expect(Self.refusal(String(repeating: interim, count: 16) + answer, parts: size) == nil)
        let error = Self.refusal(String(repeating: interim, count: 17) + answer, parts: size)
        #expect(error?.code == .answerHeadTooLong)
        #expect(error?.message == "more interim answers came than the 16 that are accepted here")
    }

    /// The head of an answer; nil when it is malformed.
    private static func head(_ fields: String) -> ResponseHead? {
        var reader = AnswerReader(isExchange: true)
        Array("HTTP/1.1 200 OK\r\n\(fields)\r\n".utf8).withUnsafeBytes { reader.append($0) }
        return if case .head(let head) = reader.next() { head } else { nil }
    }

    @Test
    func `have the lines that begin with a blank joined to the field before them`() {
        let head = Self.head(
            "Connection: Upgrade,\r\n\t keep-alive \r\n \r\nUpgrade:\r\n  websocket\r\nContent-Length: 2\r\n")
        #expect(head?["connection"] == "Upgrade, keep-alive")
        #expect(head?["upgrade"] == "websocket")
        #expect(head?.length == 2)
        #expect(Self.head(" folded: 1\r\n") == nil)
        #expect(Self.head("\tfolded\r\nUpgrade: websocket\r\n") == nil)
    }

    @Test(arguments: [1, 2, 3, 5, 7, 64, .max])
    func `are the same wherever they are cut`(size: Int) {
        let interim = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
        let chunks =
            "4\r\n0123\r\n006;name=value\r\n456789\r\n1 \t; x\r\na\r\nA\r\n\r\n12345678\r\n"
            + "0\r\nX-Sum: 1\r\n\r\n"
        let body = Array("0123456789a\r\n12345678".utf8)
        #expect(Self.body(interim + Self.head + chunks, parts: size) == body)
        let counted = "HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n0123456789a\r\n1234567"
        #expect(Self.body(counted, parts: size) == Array(body.dropLast()))
    }

    @Test(arguments: [1, 2, 3, 5, 64, .max])
    func `may end the lines of a head with LF alone, and of trailer fields, wherever they are cut`(size: Int) {
        let head = "HTTP/1.1 100 Continue\n\nHTTP/1.1 200 OK\r\nContent-Length: 6\n\tfolded\nA:b\n"
        let answer = "HTTP/1.1 200 OK\nContent-Length: 6\nA:b\n\na\r\n\r\nb"
        #expect(Self.body(answer, parts: size) == Array("a\r\n\r\nb".utf8))
        #expect(Self.body("HTTP/1.1 103 X\n\nHTTP/1.1 200 OK\r\nContent-Length: 1\n\r\nab", parts: size) == [97])
        #expect(Self.body(head + "\nabcdef", parts: size) == nil, "a folded length is no number")
    }

    @Test(arguments: [1, 3, .max], ["1\na\r\n0\r\n\r\n", "1\r\na\n0\r\n\r\n", "1\na\n0\n\n"])
    func `end the lines of chunks with CRLF, and are malformed otherwise`(size: Int, chunks: String) {
        let answer = "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n"
        #expect(Self.body(answer + chunks, parts: size) == nil)
        #expect(Self.body(answer + "1\r\na\r\n0\r\n\r\n", parts: size) == [97])
    }

    @Test(arguments: ["", " 1", "+1", "-0", "0x1", "1 0", "1,", "g", "\u{FF11}", "000000001", "1\n"])
    func `have chunks whose lengths are hexadecimal digits and nothing else`(length: String) {
        #expect(Self.body("\(Self.head)\(length)\r\n4\r\n0\r\n\r\n") == nil)
    }

    @Test
    func `move what is left once a read, however many chunks it has`() {
        let answer = Self.head + String(repeating: "1\r\nx\r\n", count: 10_000) + "0\r\n\r\n"
        let moves = Lock(0)
        let body = Growth.$onStep.withValue({ moves.withLock { $0 += 1 } }) { Self.body(answer, parts: 1 << 14) }
        #expect(body?.count == 10_000)
        #expect(moves.withLock { $0 } <= answer.utf8.count >> 14)
    }

    @Test(arguments: ["Content-Length: 2 ", "Content-Length:\t 2\t", "Content-Length:2"])
    func `have fields whose values may stand between blanks`(field: String) {
        #expect(Self.body("HTTP/1.1 200 OK\r\n\(field)\r\n\r\nok and more") == Array("ok".utf8))
    }

    @Test(arguments: ["-1", "+2", "2, 3", "2\r\nContent-Length: 3", "", "2,", "0x2", "2 2"])
    func `are malformed when their length is not one number`(length: String) {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nok"
        #expect(Self.refusal(answer, parts: .max)?.code == .handshakeMalformed)
    }

    @Test(arguments: ["2, 2", "2\r\nContent-Length: 2"])
    func `may repeat their length`(length: String) {
        #expect(Self.body("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nok and more") == Array("ok".utf8))
    }

    @Test
    func `of another protocol are shown by their first 100 bytes`() {
        let error = Self.refusal(String(repeating: "x", count: 101), parts: .max)
        #expect(error?.code == .handshakeMalformed)
        let text = String(repeating: "x", count: 100)
        #expect(error?.message == "the server does not speak HTTP: it sent '\(text)'")
    }

    @Test(
        arguments: [
            (204, "", true), (304, "", true), (200, "", false), (200, "Content-Length: 0\r\n", true),
            (200, "Content-Length: 1\r\n", false), (200, "Transfer-Encoding: chunked\r\n", false),
        ])
    func `without a body are done with their heads`(status: Int, field: String, isDone: Bool) {
        var reader = AnswerReader(isExchange: true)
        reader.append("HTTP/1.1 \(status) X\r\n\(field)\r\n".utf8)
        guard case .head = reader.next() else {
            Issue.record("no head")
            return
        }
        guard case .end = reader.next() else {
            #expect(!isDone && !reader.isDone)
            return
        }
        #expect(isDone && reader.isDone && !reader.isUnfinished)
        reader.append([0])
        #expect(!reader.isDone, "a byte behind it has come")
    }

    @Test
    func `name no sub-protocol in an empty field`() {
        var reader = AnswerReader(isExchange: false)
        Array("HTTP/1.1 101 Go\r\nSec-WebSocket-Protocol: \r\n\r\n".utf8).withUnsafeBytes { reader.append($0) }
        guard case .head(let head) = reader.next() else {
            Issue.record("no head")
            return
        }
        #expect(head.list("sec-websocket-protocol").isEmpty)
    }
}

@Suite("Deadlines of exchanges")
struct ExchangeDeadlineTests {
    /// A stream that is open after a request to an address.
    private static func open(isExchange: Bool) -> StreamStateMachine {
        var machine = StreamStateMachine(isExchange: isExchange)
        _ = machine.resolved(.success(["127.0.0.1"]))
        machine.reached()
        _ = machine.sendsRequest()
        _ = machine.received(ResponseHead(status: isExchange ? 200 : 101))
        #expect(machine.isOpen)
        return machine
    }

    // Because a macro cannot change a value.
    private static func isGettingOn(_ machine: inout StreamStateMachine, isPaused: Bool) -> Bool {
        machine.isGettingOn(isPaused: isPaused)
    }

    @Test
    func `begin anew while an answer makes progress or is not read`() {
        var machine = Self.open(isExchange: true)
        machine.received(byteCount: StreamStateMachine.exchangeProgress)
        #expect(Self.isGettingOn(&machine, isPaused: false))
        #expect(Self.isGettingOn(&machine, isPaused: true))
        machine.received(byteCount: StreamStateMachine.exchangeProgress - 1)
        #expect(!Self.isGettingOn(&machine, isPaused: false), "what came before the last deadline does not count")
        let error = machine.deadlinePassed(in: nil)
        #expect(error?.code == .timedOut)
    }

    @Test
    func `are those of opening alone for streams`() {
        var machine = Self.open(isExchange: false)
        machine.received(byteCount: 1 << 20)
        #expect(!Self.isGettingOn(&machine, isPaused: false))
        let error = machine.deadlinePassed(in: nil)
        #expect(error == nil)
    }
}
