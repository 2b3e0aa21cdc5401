import LinkspanNetwork

#if LWS
import LinkspanLWS
#endif
#if NIO
import LinkspanNIO
#endif

/// How many configurations for TLS a loop keeps; on the loop.
func keptConfigurations(_ loop: any NetworkLoop) -> Int {
    #if LWS
    if let loop = loop as? EventLoop { return loop.hostCount }
    #endif
    #if NIO
    if let loop = loop as? NIOLoop { return loop.contextCount }
    #endif
    return 0
}

/// How many connections libwebsockets has to itself, where it is what a loop runs on; on the loop.
func connectionsOfLibrary(_ loop: any NetworkLoop) -> Int {
    #if LWS
    if let loop = loop as? EventLoop { return loop.openerCount }
    #endif
    return 0
}
