#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

import LinkspanBackEnds
import LinkspanNetwork
import Testing

@Suite("A process without descriptors", .timeLimit(.minutes(1)))
struct ExhaustionTests {
    @Test(arguments: NetworkBackEnd.builtIn)
    func `gets an error from a loop that cannot start, and goes on`(network: NetworkBackEnd) async {
        let name = network.rawValue
        await #expect(processExitsWith: .success) { [name = name as String] in
            let loop = NetworkBackEnd(rawValue: name).makeLoop(name: "test", idleLimit: .seconds(10))
            let limit = limitDescriptors(to: 0)
            let recorder = Recorder()
            _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: false), on: loop)
            let refused = await recorder.ending()
            _ = limitDescriptors(to: limit)
            try #require(refused.code == .unavailable)
            // Until the loop has told all who were waiting, a newcomer is told the same.
            var later = refused
            while later.code == .unavailable {
                let next = Recorder()
                _ = next.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: false), on: loop)
                later = await next.ending()
            }
            try #require(later.code == .unreachable)
        }
    }
}

/// Limits the descriptors of this process; returns the limit before.
private func limitDescriptors(to count: rlim_t) -> rlim_t {
    var limit = rlimit()
    #if canImport(Glibc)
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
    let resource = RLIMIT_NOFILE
    #endif
    getrlimit(resource, &limit)
    let former = limit.rlim_cur
    limit.rlim_cur = count
    setrlimit(resource, &limit)
    return former
}
