internal import Foundation
internal import Testing

/// Starts a program with its standard output in a pipe, its standard error in a file and no standard input.
///
/// Not Foundation's `Process`, which waits for the end of a socket that the processes of exit tests inherit too.
///
/// - Parameters:
///   - arguments: the program and its arguments.
///   - errors: the path of the file, which grows.
/// - Returns: the process, and the end of the pipe to read from.
/// - Throws: when the program does not start.
package func spawn(_ arguments: [String], errors: String = "/dev/null") throws -> (identifier: Int32, output: Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addopen(&actions, 2, errors, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    var texts: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
    defer { for text in texts { free(text) } }
    var identifier = pid_t()
    let code = posix_spawnp(&identifier, arguments[0], &actions, nil, &texts, environ)
    close(ends[1])
    try #require(code == 0, "\(arguments[0]) does not start: \(code)")
    return (identifier, ends[0])
}
