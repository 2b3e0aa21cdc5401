// A module of its own, for programs that do not link the library Testing.

@_exported public import LinkspanFaults
