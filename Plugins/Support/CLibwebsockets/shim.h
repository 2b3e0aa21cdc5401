// The narrow door to libwebsockets. Everything Swift calls is a `static inline` function here, each of which says why it
// has to be C. Prefix: clws_.
#ifndef CLIBWEBSOCKETS_SHIM_H
#define CLIBWEBSOCKETS_SHIM_H

#if defined(__has_include)
#if !__has_include(<libwebsockets.h>)
#error "libwebsockets is missing. Debian, Ubuntu: apt-get install libwebsockets-dev. Fedora: dnf install libwebsockets-devel. macOS: brew install libwebsockets. The trait NIO needs none"
#endif
#endif

#include <libwebsockets.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "dial.h"
#include "listen.h"
#include "poller.h"
#include "socket.h"
#include "tls.h"

// What happened to one connection attempt ("dial"). Closed, so that the Swift side is an exhaustive switch.
enum __attribute__((enum_extensibility(closed))) clws_event {
  clws_event_request = 0,       // the request is being written; `in` is a struct clws_room
  clws_event_certificate = 1,   // one step of the verification; `in` is a struct clws_certificate
  clws_event_failed = 2,        // the attempt failed; `in` is the library's text
  clws_event_closed = 3,        // the connection is over
  clws_event_destroyed = 4,     // the last callback: user data is released here and nowhere else
};

// Where the request's own header lines go.
struct clws_room {
  unsigned char **cursor;
  size_t count;
};

// Receives every event. A non-zero result closes the connection.
typedef int (*clws_handler)(void *dial, struct lws *wsi, enum clws_event event, void *in, size_t count);

enum { clws_receive_size = 256 * 1024, clws_header_size = 16 * 1024 };

// What one loop needs at a stable address for as long as the context lives.
struct clws_loop {
  struct lws_context *context;
  clws_handler handler;
  struct lws_vhost *vhost;       // the first one, which gets what the library tells without asking whose it is
  lws_sorted_usec_list_t timer;
  struct clws_dock dock;
  bool has_ready;                // whether the poller that the library watches has something
  unsigned char receive[clws_receive_size];
};

// C, because events have to be told apart by an imported enum without `default`, and because the library hands several of
// them over as untyped arguments whose meaning depends on the reason. It forwards and decides nothing.
static inline int clws_callback(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in, size_t count) {
  struct lws_context *context = wsi ? lws_get_context(wsi) : NULL;
  struct clws_loop *loop = context ? (struct clws_loop *)lws_context_user(context) : NULL;
  void *dial = wsi ? lws_get_opaque_user_data(wsi) : NULL;
  if (!loop || !dial) return 0;
  if (dial == loop) {
    if (reason == LWS_CALLBACK_RAW_RX_FILE) loop->has_ready = true;
    return 0;
  }
  switch (reason) {
    case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER: {
      struct clws_room room = {(unsigned char **)in, count};
      return loop->handler(dial, wsi, clws_event_request, &room, 0);
    }
    // Not to be reached: answers are read by us.
    case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP: return -1;
    case LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION: {
      struct clws_certificate certificate = clws_certificate_of((X509_STORE_CTX *)user, (int)count);
      return loop->handler(dial, wsi, clws_event_certificate, &certificate, 0);
    }
    case LWS_CALLBACK_CLIENT_HTTP_REDIRECT: return -1;
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR: return loop->handler(dial, wsi, clws_event_failed, in, in ? count : 0);
    case LWS_CALLBACK_CLOSED_CLIENT_HTTP: return loop->handler(dial, wsi, clws_event_closed, NULL, 0);
    case LWS_CALLBACK_WSI_DESTROY: return loop->handler(dial, wsi, clws_event_destroyed, NULL, 0);
    default: return 0;
  }
}

// C, because the buffer is part of the C structure.
static inline unsigned char *clws_receive_buffer(struct clws_loop *loop) { return loop->receive; }

// C, because the library keeps a pointer to the table and to its names for ever: static storage is the only safe place.
static inline const struct lws_protocols *clws_protocols(void) {
  static const struct lws_protocols table[] = {
      {"linkspan", clws_callback, 0, clws_receive_size, 0, NULL, 1024 * 1024},
      {NULL, NULL, 0, 0, 0, NULL, 0},
  };
  return table;
}

// C, because each loop would otherwise hand over a policy that has to outlive its connections. All zero: no pings and
// no hang-ups of the library's own.
static inline const lws_retry_bo_t *clws_no_policy(void) {
  static const lws_retry_bo_t policy;
  return &policy;
}

// C, because the timer's address must be stable and its callback a C function. Timers fire before poll() within one
// service call, so control comes back to the loop only after a wake-up.
static inline void clws_timer_fired(lws_sorted_usec_list_t *timer) {
  struct clws_loop *loop = lws_container_of(timer, struct clws_loop, timer);
  lws_cancel_service(loop->context);
}

// C, because the timer is part of the C structure.
static inline void clws_loop_wake_after(struct clws_loop *loop, int64_t microseconds) {
  lws_sul_schedule(loop->context, 0, &loop->timer, clws_timer_fired, (lws_usec_t)microseconds);
}

// C, because the creation info keeps its strings by pointer: these are literals. `tls` is NULL for plain connections.
static inline struct lws_vhost *clws_vhost_create(struct clws_loop *loop, SSL_CTX *tls) {
  struct lws_context_creation_info info;
  memset(&info, 0, sizeof info);
  info.port = CONTEXT_PORT_NO_LISTEN;
  info.protocols = clws_protocols();
  info.vhost_name = tls ? "linkspan-tls" : "linkspan";
  // Or the http_proxy variable of the environment would apply to every connection, loopback included.
  info.http_proxy_address = ":0";
  info.retry_and_idle_policy = clws_no_policy();
  info.provided_client_ssl_ctx = tls;
  // Without it a vhost takes no client configuration. The roots are in the configuration that is given.
  if (tls) info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT | LWS_SERVER_OPTION_DISABLE_OS_CA_CERTS;
#if defined(LWS_SERVER_OPTION_DISABLE_TLS_SESSION_CACHE)
  // A resumed session would skip the verification callback, and pins with it.
  info.options |= LWS_SERVER_OPTION_DISABLE_TLS_SESSION_CACHE;
#endif
  info.timeout_secs = 0;
  return lws_create_vhost(loop->context, &info);
}

static inline void clws_loop_destroy(struct clws_loop *loop) {
  lws_sul_cancel(&loop->timer);
  lws_context_destroy(loop->context);
  clws_dock_close(&loop->dock);
  free(loop);
}

// Has the library look at the poller too while it waits for what it has itself. The library closes its copy.
static inline bool clws_loop_watch(struct clws_loop *loop, int poller) {
  lws_adopt_desc_t info;
  memset(&info, 0, sizeof info);
  info.vh = loop->vhost;
  info.type = LWS_ADOPT_RAW_FILE_DESC;
  info.fd.filefd = fcntl(poller, F_DUPFD_CLOEXEC, 0);
  info.vh_prot_name = "linkspan";
  info.opaque = loop;
  return info.fd.filefd >= 0 && lws_adopt_descriptor_vhost_via_info(&info) != NULL;
}

// Keeps OpenSSL until the process has gone. By default it frees everything in a handler of `exit`, under the loops' threads,
// which go on; see OPENSSL_init_crypto(3). No effect where the program has used OpenSSL before.
static inline void clws_keep_openssl(void) {
#if defined(OPENSSL_INIT_NO_ATEXIT)
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
#endif
}

// C, because of the flexible layout of the creation info across versions: unknown fields stay zero.
static inline struct clws_loop *clws_loop_create(clws_handler handler, unsigned int timeout_seconds, int poller) {
  clws_keep_openssl();
  struct clws_loop *loop = (struct clws_loop *)calloc(1, sizeof *loop);
  if (!loop) return NULL;
  if (!clws_dock_open(&loop->dock)) {
    free(loop);
    return NULL;
  }
  loop->handler = handler;
  struct lws_context_creation_info info;
  memset(&info, 0, sizeof info);
  info.port = CONTEXT_PORT_NO_LISTEN;
  info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_JUST_USE_RAW_ORIGIN;
  info.user = loop;
  info.gid = (gid_t)-1;
  info.uid = (uid_t)-1;
  info.pt_serv_buf_size = clws_receive_size;
  info.max_http_header_data2 = clws_header_size;
  info.timeout_secs = timeout_seconds;
  info.connect_timeout_secs = timeout_seconds;
  // The library takes 16 bytes per possible descriptor; container hosts allow a million and more.
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur > 65536) info.fd_limit_per_thread = 65536;
  loop->context = lws_create_context(&info);
  if (!loop->context) {
    clws_dock_close(&loop->dock);
    free(loop);
    return NULL;
  }
  loop->vhost = clws_vhost_create(loop, NULL);
  if (loop->vhost && clws_loop_watch(loop, poller)) return loop;
  clws_loop_destroy(loop);
  return NULL;
}

// Has the library connect to the dock; to be followed by `clws_dock_swap`. C, because `const char *` fields cannot be assigned from a Swift String. The library
// copies these strings. Neither a connection that is to be upgraded nor one that is to be kept may be announced as one
// that closes.
static inline struct lws *clws_connect(struct clws_loop *loop, struct lws_vhost *vhost, void *dial, const char *host,
                                       const char *path, const char *method, bool closes, bool secure) {
  struct lws_client_connect_info info;
  memset(&info, 0, sizeof info);
  info.context = loop->context;
  info.vhost = vhost;
  info.address = loop->dock.address;
  info.port = loop->dock.port;
  info.host = host;
  info.path = path;
  info.method = method;
  info.alpn = "http/1.1";
  info.ssl_connection = LCCSCF_HTTP_NO_FOLLOW_REDIRECT;
  if (!closes) info.ssl_connection |= LCCSCF_PIPELINE;
  if (secure) info.ssl_connection |= LCCSCF_USE_SSL;
  info.local_protocol_name = "linkspan";
  info.retry_and_idle_policy = clws_no_policy();
  info.opaque_user_data = dial;
  return lws_client_connect_via_info(&info);
}

// C, because the library hands over a cursor into its buffer. Returns false when the lines do not fit.
static inline bool clws_room_append(struct clws_room *room, const unsigned char *bytes, size_t count) {
  if (count > room->count) return false;
  memcpy(*room->cursor, bytes, count);
  *room->cursor += count;
  room->count -= count;
  return true;
}

// Keeps the library from reading an answer, as if a body of the request were yet to come.
static inline void clws_hold_answer(struct lws *wsi) { lws_client_http_body_pending(wsi, 1); }

// Closes soon and at any stage of a connection; the closing callbacks come from a later service call.
static inline void clws_kill(struct lws *wsi) { lws_set_timeout(wsi, (enum pending_timeout)1, LWS_TO_KILL_ASYNC); }

#endif
