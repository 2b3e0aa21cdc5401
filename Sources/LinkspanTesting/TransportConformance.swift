internal import Linkspan
public import Testing

/// Checks of the contract of ``/Linkspan/Transport``, to run over any implementation.
///
/// ```swift
/// @Test(arguments: TransportConformance.Check.allCases)
/// func `the loopback conforms`(check: TransportConformance.Check) async throws {
///     await TransportConformance.run(check, over: try LoopbackFixture())
/// }
/// ```
public enum TransportConformance {
    /// One promise.
    public enum Check: String, Sendable, CaseIterable, CustomTestStringConvertible {
        /// `opened` comes once, before everything else.
        case opensOnceBeforeAnythingElse
        /// A thousand events come back in order.
        case keepsTheOrderOfEvents
        /// A thousand events of the server come in order, and the reply after them.
        case keepsTheOrderOfAFlood
        /// Requests are answered, each with its own reply.
        case bringsRepliesToRequests
        /// The server's questions are answered.
        case takesAnswersToQuestions
        /// Blobs travel both ways.
        case carriesBinaryBothWays
        /// No argument, several arguments and every kind of character survive.
        case carriesArgumentsUnchanged
        /// Messages of 1 MiB travel both ways.
        case carriesLargeMessages
        /// The auth payload reaches the server.
        case showsCredentials
        /// Refused credentials end the link with code `credentialsRefused`.
        case reportsRefusedCredentials
        /// Events that the server emits before it accepts follow `opened`, in order.
        case holdsEarlyEvents
        /// A link to an address without a listener ends with a code that allows another attempt.
        case reportsUnreachablePeers
        /// `close` sends all accepted messages, and ends the link exactly once.
        case closesPolitely
        /// `abort` ends the link exactly once, at any moment, also from inside the receiver.
        case abortsAtAnyMoment
        /// After its end a link refuses sends and ignores replies.
        case refusesSendsAfterTheEnd
        /// Before it is open a link refuses sends.
        case refusesSendsBeforeOpening
        /// A server that ends the link on purpose is understood.
        case reportsKicks
        /// A lost link is reported, with a code that allows another attempt.
        case reportsLosses
        /// Links of one transport do not mix.
        case keepsLinksApart

        /// The requirement in a sentence.
        public var testDescription: String {
            self.rawValue.reduce(into: "") { text, character in
                text += character.isUppercase ? " \(character.lowercased())" : String(character)
            }
        }
    }

    /// Runs one check and records failures as issues of the running test.
    ///
    /// - Parameters:
    ///   - check: the promise.
    ///   - fixture: the transport and its peer.
    ///   - sourceLocation: where issues are shown.
    public static func run(
        _ check: Check, over fixture: some TransportFixture, sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        do throws(ConformanceFailure) {
            try await self.verify(check, over: fixture)
        } catch {
            Issue.record("\(check.testDescription): \(error)", sourceLocation: sourceLocation)
        }
    }

    /// Runs one check, for frameworks of other kinds.
    ///
    /// - Throws: ``ConformanceFailure`` with the reason.
    public static func verify(_ check: Check, over fixture: some TransportFixture) async throws(ConformanceFailure) {
        let run = ConformanceRun(fixture: fixture)
        try await run.perform(check)
        try run.conclude()
    }
}

extension ConformanceRun {
    fileprivate func perform(_ check: TransportConformance.Check) async throws(ConformanceFailure) {
        switch check {
        case .opensOnceBeforeAnythingElse: try await self.opensOnceBeforeAnythingElse()
        case .keepsTheOrderOfEvents: try await self.keepsTheOrderOfEvents()
        case .keepsTheOrderOfAFlood: try await self.keepsTheOrderOfAFlood()
        case .bringsRepliesToRequests: try await self.bringsRepliesToRequests()
        case .takesAnswersToQuestions: try await self.takesAnswersToQuestions()
        case .carriesBinaryBothWays: try await self.carriesBinaryBothWays()
        case .carriesArgumentsUnchanged: try await self.carriesArgumentsUnchanged()
        case .carriesLargeMessages: try await self.carriesLargeMessages()
        case .showsCredentials: try await self.showsCredentials()
        case .reportsRefusedCredentials: try await self.reportsRefusedCredentials()
        case .holdsEarlyEvents: try await self.holdsEarlyEvents()
        case .reportsUnreachablePeers: try await self.reportsUnreachablePeers()
        case .closesPolitely: try await self.closesPolitely()
        case .abortsAtAnyMoment: try await self.abortsAtAnyMoment()
        case .refusesSendsAfterTheEnd: try await self.refusesSendsAfterTheEnd()
        case .refusesSendsBeforeOpening: try await self.refusesSendsBeforeOpening()
        case .reportsKicks: try await self.reportsKicks()
        case .reportsLosses: try await self.reportsLosses()
        case .keepsLinksApart: try await self.keepsLinksApart()
        }
    }
}
