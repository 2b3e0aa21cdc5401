internal import Linkspan
internal import LinkspanNetwork
internal import Testing

@testable import LinkspanSocketIO

@Suite("Answers to polls and posts")
struct PollingAnswerTests {
    private static func error(
        _ status: Int, body: String = "", retryAfter: Duration? = nil, isFirst: Bool
    ) -> LinkspanError? {
        let fields = retryAfter.map { ["retry-after": ["\($0.components.seconds)"]] } ?? [:]
        let answer = HTTPAnswer(head: ResponseHead(status: status, fields: fields), body: Array(body.utf8))
        do throws(LinkspanError) {
            _ = try PollingAnswer.body(of: .success(answer), isFirst: isFirst)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (200, nil),
            (300, .connectionLost), (301, .connectionLost), (302, .connectionLost), (307, .connectionLost),
            (399, .connectionLost), (400, .connectionLost), (401, .credentialsRefused), (403, .connectionLost),
            (404, .connectionLost), (405, .connectionLost), (407, .credentialsRefused), (410, .connectionLost),
            (413, .messageRefused), (426, .connectionLost), (429, .serverUnavailable), (500, .serverUnavailable),
            (503, .serverUnavailable),
        ] as [(Int, LinkspanError.Code?)])
    func `in an open session a refusal is the loss of the session`(_ status: Int, _ code: LinkspanError.Code?) {
        #expect(Self.error(status, isFirst: false)?.code == code)
    }

    @Test(
        arguments: [
            (302, .redirected), (400, .refused), (403, .refused), (404, .refused), (405, .refused), (410, .refused),
            (426, .unsupportedVersion),
        ] as [(Int, LinkspanError.Code)])
    func `in the handshake the same refusals are final`(_ status: Int, _ code: LinkspanError.Code) {
        #expect(Self.error(status, isFirst: true)?.code == code)
    }

    @Test(arguments: [302, 403, 405, 410, 426])
    func `the loss names the status, and keeps to the time that was asked for`(_ status: Int) throws {
        let error = try #require(Self.error(status, retryAfter: .seconds(7), isFirst: false))
        #expect(error.message.contains("status \(status)"))
        #expect((error.cause as? ByteStreamError)?.status == status)
        #expect(error.retryAfter == .seconds(7))
    }

    @Test
    func `an unknown session is lost, whatever the server says of it`() {
        let bodies = [
            "", #"{"code":1,"message":"Session ID unknown"}"#, #"{"code":5,"message":"unsupported version"}"#,
        ]
        for body in bodies {
            #expect(Self.error(400, body: body, isFirst: false)?.code == .connectionLost)
        }
    }
}
