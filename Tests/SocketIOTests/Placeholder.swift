import Testing
import SocketIO
