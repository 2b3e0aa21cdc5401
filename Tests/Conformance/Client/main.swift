internal import Foundation
internal import LinkspanBackEnds
internal import LinkspanNetwork

// Echoes what the suite's cases send, one connection a case:
//
//     conformance-client 127.0.0.1:9001 [--ca FILE] [--parallel N] [--agent NAME] [--network NAME]
//
// Fails when a case cannot be run; whether it was passed the suite decides.

let options = try Options(Array(CommandLine.arguments.dropFirst()))
let loop = options.network.makeLoop(name: "conformance")
let runner = Runner(options: options, loop: loop)
let failures = try await runner.run()
loop.shutdown()
for failure in failures { print("error: \(failure)") }
exit(failures.isEmpty ? 0 : 1)
