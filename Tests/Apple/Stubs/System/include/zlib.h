// zlib, as far as the package uses it; Apple's systems have it.
#ifndef LINKSPAN_STUB_ZLIB_H
#define LINKSPAN_STUB_ZLIB_H

typedef unsigned char Bytef;
typedef unsigned int uInt;
typedef unsigned long uLong;
typedef void *voidpf;
typedef voidpf (*alloc_func)(voidpf opaque, uInt items, uInt size);
typedef void (*free_func)(voidpf opaque, voidpf address);
typedef struct z_stream_s {
    Bytef *next_in;
    uInt avail_in;
    uLong total_in;
    Bytef *next_out;
    uInt avail_out;
    uLong total_out;
    const char *msg;
    struct internal_state *state;
    alloc_func zalloc;
    free_func zfree;
    voidpf opaque;
    int data_type;
    uLong adler;
    uLong reserved;
} z_stream, *z_streamp;
int deflate(z_streamp, int);
int deflateEnd(z_streamp);
int deflateReset(z_streamp);
int inflate(z_streamp, int);
int inflateEnd(z_streamp);
int inflateReset(z_streamp);
int inflateSyncPoint(z_streamp);
int inflateCopy(z_streamp, z_streamp);
int deflateCopy(z_streamp, z_streamp);
int inflateInit2_(z_streamp, int, const char *, int);
int deflateInit2_(z_streamp, int, int, int, int, int, const char *, int);
#define inflateInit2(stream, bits) inflateInit2_((stream), (bits), "1", (int)sizeof(z_stream))
#define deflateInit2(stream, level, method, bits, memory, strategy) \
    deflateInit2_((stream), (level), (method), (bits), (memory), (strategy), "1", (int)sizeof(z_stream))
#define Z_NO_FLUSH 0
#define Z_SYNC_FLUSH 2
#define Z_FULL_FLUSH 3
#define Z_FINISH 4
#define Z_OK 0
#define Z_STREAM_END 1
#define Z_NEED_DICT 2
#define Z_STREAM_ERROR (-2)
#define Z_DATA_ERROR (-3)
#define Z_MEM_ERROR (-4)
#define Z_BUF_ERROR (-5)
#define Z_DEFLATED 8
#define Z_DEFAULT_COMPRESSION (-1)
#define Z_DEFAULT_STRATEGY 0
#endif
