import Testing
import Starscream
