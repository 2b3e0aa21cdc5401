#if LWS
#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#endif

import LinkspanLWS
import LinkspanNetwork
import Testing

@Suite("OpenSSL under libwebsockets", .timeLimit(.minutes(1)))
struct ExitTests {
    @Test
    func `is there for the threads of loops until the process has gone`() async {
        await #expect(processExitsWith: .success) {
            // Handlers of `exit` are called in reverse order: this one after any of OpenSSL's.
            atexit { if !isOpenSSLUsable() { _exit(1) } }
            try await withLoop(EventLoop(name: "test")) { loop in
                let recorder = Recorder()
                _ = recorder.connect(StreamRequest(host: "127.0.0.1", port: 1, isSecure: true), on: loop)
                _ = await recorder.ending()
            }
            exit(isOpenSSLUsable() ? 0 : 2)
        }
    }
}

/// Whether OpenSSL, which is in the process by way of libwebsockets, was not freed yet.
private func isOpenSSLUsable() -> Bool {
    guard let symbol = dlsym(dlopen(nil, RTLD_NOW), "OPENSSL_init_crypto") else { return false }
    typealias Initialize = @convention(c) (UInt64, OpaquePointer?) -> CInt
    return unsafeBitCast(symbol, to: Initialize.self)(0, nil) == 1
}
#endif
