private import CLinkspanRuntime

/// The limit for the files and sockets that the process has open.
package enum DescriptorLimit {
    /// The limit at this time; the system's tools, such as `ulimit -n`, change it.
    package static var current: Int { Int(clinkspan_descriptor_limit()) }
}
