import LinkspanNetwork

#if LWS
@testable import LinkspanLWS
#endif
#if NIO
@testable import LinkspanNIO
#endif

/// How many configurations for TLS a loop keeps; on the loop.
func keptConfigurations(_ loop: any NetworkLoop) -> Int {
    #if LWS
    if let loop = loop as? EventLoop { return loop.core.value?.library.hostCount ?? 0 }
    #endif
    #if NIO
    if let loop = loop as? NIOLoop { return loop.core.value?.contextCount ?? 0 }
    #endif
    return 0
}

/// How many connections libwebsockets has to itself, where it is what a loop runs on; on the loop.
func connectionsOfLibrary(_ loop: any NetworkLoop) -> Int {
    #if LWS
    if let loop = loop as? EventLoop { return loop.core.value?.library.openerCount ?? 0 }
    #endif
    return 0
}
