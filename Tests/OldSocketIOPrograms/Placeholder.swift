import SocketIO
