// TLS configuration and the checks of a server's certificate, over OpenSSL.
#ifndef CLIBWEBSOCKETS_TLS_H
#define CLIBWEBSOCKETS_TLS_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// One step of the verification of a certificate chain.
struct clws_certificate {
  X509_STORE_CTX *store;
  int depth;
  int error;       // X509_V_OK when OpenSSL is content so far
};

enum __attribute__((enum_extensibility(closed))) clws_certificate_problem {
  clws_certificate_problem_none,
  clws_certificate_problem_authority,
  clws_certificate_problem_name,
  clws_certificate_problem_time,
};

static inline struct clws_certificate clws_certificate_of(X509_STORE_CTX *store, int preverified) {
  struct clws_certificate certificate = {store, X509_STORE_CTX_get_error_depth(store), X509_V_OK};
  if (!preverified) {
    certificate.error = X509_STORE_CTX_get_error(store);
    if (certificate.error == X509_V_OK) certificate.error = X509_V_ERR_UNSPECIFIED;
  }
  return certificate;
}

// C, because the X509_V_ERR_* codes are macros with values that depend on the version of OpenSSL.
static inline enum clws_certificate_problem clws_certificate_problem_of(const struct clws_certificate *certificate) {
  switch (certificate->error) {
    case X509_V_OK: return clws_certificate_problem_none;
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH: return clws_certificate_problem_name;
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID: return clws_certificate_problem_time;
    default: return clws_certificate_problem_authority;
  }
}

static inline const char *clws_certificate_text(const struct clws_certificate *certificate) {
  return X509_verify_cert_error_string(certificate->error);
}

// Whether the certificate in hand was issued to `host`, a name or (`is_address`) a numeric address without brackets.
static inline bool clws_certificate_is_for(const struct clws_certificate *certificate, const char *host,
                                           bool is_address) {
  X509 *subject = X509_STORE_CTX_get_current_cert(certificate->store);
  if (!subject) return false;
  if (is_address) return X509_check_ip_asc(subject, host, 0) == 1;
  return X509_check_host(subject, host, 0, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS, NULL) == 1;
}

// Overrules a complaint about the name; only after `clws_certificate_is_for` said yes. Version 4.1 of the library cuts
// the host at its first colon and so complains about every IPv6 address.
static inline void clws_certificate_overrule(struct clws_certificate *certificate) {
  X509_STORE_CTX_set_error(certificate->store, X509_V_OK);
  certificate->error = X509_V_OK;
}

// C, because it is called by OpenSSL. An address must not be sent as server name (RFC 6066 section 3), and version 4.1
// of the library does so.
static inline void clws_tls_progress(const SSL *connection, int place, int result) {
  (void)result;
  if (!(place & SSL_CB_HANDSHAKE_START)) return;
  const char *name = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
  unsigned char address[16];
  if (name && (name[0] == '[' || strchr(name, ':') || inet_pton(AF_INET, name, address) == 1))
    SSL_set_tlsext_host_name((SSL *)connection, NULL);
}

// Adds every certificate of a PEM text; returns how many, or -1 when one is unusable. C, because the library's own way
// reads only the first one.
static inline int clws_tls_add_roots(SSL_CTX *tls, const void *pem, size_t count) {
  BIO *text = BIO_new_mem_buf(pem, (int)count);
  if (!text) return -1;
  int added = 0;
  X509 *root;
  while ((root = PEM_read_bio_X509(text, NULL, NULL, NULL))) {
    int ok = X509_STORE_add_cert(SSL_CTX_get_cert_store(tls), root);
    X509_free(root);
    if (ok != 1) {
      added = -1;
      break;
    }
    added += 1;
  }
  if (added >= 0 && ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) added = -1;
  ERR_clear_error();
  BIO_free(text);
  return added;
}

// A client configuration: TLS 1.2 at least, chain verified, no session reuse (a resumed session skips verification).
// `pem` is NULL for the system's roots. Returns NULL when the roots are unusable. C, because most of OpenSSL's setters
// are macros.
static inline SSL_CTX *clws_tls_create(const void *pem, size_t count) {
  SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
  if (!tls) return NULL;
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_info_callback(tls, clws_tls_progress);
  bool usable = SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION) == 1;
  if (usable) usable = pem ? clws_tls_add_roots(tls, pem, count) > 0 : SSL_CTX_set_default_verify_paths(tls) == 1;
  if (usable) return tls;
  SSL_CTX_free(tls);
  return NULL;
}

#endif
