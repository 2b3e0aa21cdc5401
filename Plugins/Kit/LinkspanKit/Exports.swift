// One import for an app: everything that its own code names, a transport of its own included.

@_exported public import Linkspan
@_exported public import LinkspanConfiguration
@_exported public import LinkspanInMemory
@_exported public import LinkspanLifecycle
@_exported public import LinkspanMessaging
@_exported public import LinkspanRuntime
@_exported public import LinkspanSocketIO
@_exported public import LinkspanWebSocket
