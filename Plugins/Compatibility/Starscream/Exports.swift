#if canImport(FoundationNetworking)
// Where `URLRequest` lives on Linux: an old program imports Foundation and Starscream, and nothing else.
@_exported public import FoundationNetworking
#endif
