internal import Foundation

// Sends one event to a Socket.IO server, sees to it that it has left, and exits at once, or exits amid the attempt to connect:
//
//     quick-exit shutdown|stop|drain|leave URL CARRIERS NUMBER [AUTHORITY]

guard let errand = Errand(Array(CommandLine.arguments.dropFirst())) else { exit(2) }
try await errand.departure.play(errand)
exit(0)
