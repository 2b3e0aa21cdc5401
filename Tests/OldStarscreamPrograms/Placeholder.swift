import Starscream
