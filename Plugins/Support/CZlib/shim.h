// The door to zlib, which both ends of permessage-deflate need.
#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#if defined(__has_include)
#if !__has_include(<zlib.h>)
#error "zlib is missing. Debian, Ubuntu: apt-get install zlib1g-dev. Fedora: dnf install zlib-devel. macOS: it comes with the command line tools"
#endif
#endif

#include <zlib.h>

// C, because inflateInit2 and deflateInit2 are macros that Swift does not import. Negative bits: no header, no checksum.
static inline int czlib_inflate_begin(z_stream *stream, int window_bits) {
  return inflateInit2(stream, -window_bits);
}

static inline int czlib_deflate_begin(z_stream *stream, int level, int window_bits, int memory_level) {
  return deflateInit2(stream, level, Z_DEFLATED, -window_bits, memory_level, Z_DEFAULT_STRATEGY);
}

#endif
