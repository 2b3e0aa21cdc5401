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
#include <stdint.h>
#include <string.h>
#include <strings.h>

// One step of the verification of a certificate chain.
struct clws_certificate {
  X509_STORE_CTX *store;
  int depth;
  int error;       // X509_V_OK when OpenSSL is content so far
};

enum __attribute__((enum_extensibility(closed))) clws_certificate_problem {
  clws_certificate_problem_none,
  clws_certificate_problem_authority,    // the chain leads to somebody who is not trusted
  clws_certificate_problem_incomplete,   // the chain leads nowhere: the issuer was not sent and is not known
  clws_certificate_problem_self_signed,
  clws_certificate_problem_name,
  clws_certificate_problem_expired,
  clws_certificate_problem_early,
  clws_certificate_problem_weak,
  clws_certificate_problem_purpose,
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
    case X509_V_ERR_CERT_HAS_EXPIRED: return clws_certificate_problem_expired;
    case X509_V_ERR_CERT_NOT_YET_VALID: return clws_certificate_problem_early;
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: return clws_certificate_problem_self_signed;
    case X509_V_ERR_EE_KEY_TOO_SMALL:
    case X509_V_ERR_CA_KEY_TOO_SMALL:
    case X509_V_ERR_CA_MD_TOO_WEAK: return clws_certificate_problem_weak;
    case X509_V_ERR_INVALID_PURPOSE: return clws_certificate_problem_purpose;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
      return certificate->depth == 0 ? clws_certificate_problem_incomplete : clws_certificate_problem_authority;
    default: return clws_certificate_problem_authority;
  }
}

static inline const char *clws_certificate_text(const struct clws_certificate *certificate) {
  return X509_verify_cert_error_string(certificate->error);
}

// Whether the certificate in hand was issued to `host`, a name or (`is_address`) a numeric address without brackets. The
// common name does not count (RFC 9525 section 2).
static inline bool clws_certificate_is_for(const struct clws_certificate *certificate, const char *host,
                                           bool is_address) {
  X509 *subject = X509_STORE_CTX_get_current_cert(certificate->store);
  if (!subject) return false;
  if (is_address) return X509_check_ip_asc(subject, host, 0) == 1;
  unsigned int rules = X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;
  return X509_check_host(subject, host, 0, rules, NULL) == 1;
}

// Whether the certificate in hand has the name or the address of any host in its subjectAltName. Only to say why it was
// rejected.
static inline bool clws_certificate_names_hosts(const struct clws_certificate *certificate) {
  X509 *subject = X509_STORE_CTX_get_current_cert(certificate->store);
  GENERAL_NAMES *names = subject ? (GENERAL_NAMES *)X509_get_ext_d2i(subject, NID_subject_alt_name, NULL, NULL) : NULL;
  bool found = false;
  for (int index = 0; names && index < sk_GENERAL_NAME_num(names); index++) {
    int type = sk_GENERAL_NAME_value(names, index)->type;
    found = found || type == GEN_DNS || type == GEN_IPADD;
  }
  GENERAL_NAMES_free(names);
  return found;
}

// Overrules a complaint about the name; only after `clws_certificate_is_for` said yes. Version 4.1 of the library cuts
// the host at its first colon and so complains about every IPv6 address.
static inline void clws_certificate_overrule(struct clws_certificate *certificate) {
  X509_STORE_CTX_set_error(certificate->store, X509_V_OK);
  certificate->error = X509_V_OK;
}

// Whether `pattern`, a name with one asterisk somewhere, would stand for `host` if an asterisk stood for anything.
static inline bool clws_wildcard_covers(const char *pattern, int length, const char *host) {
  const char *star = (const char *)memchr(pattern, '*', (size_t)length);
  if (!star) return false;
  size_t before = (size_t)(star - pattern), after = (size_t)length - before - 1, whole = strlen(host);
  return whole >= before + after && strncasecmp(pattern, host, before) == 0 &&
         strncasecmp(star + 1, host + whole - after, after) == 0;
}

// Whether a wildcard of the certificate in hand looks as if it stood for `host`. Only to say why it was rejected.
static inline bool clws_certificate_misuses_wildcard(const struct clws_certificate *certificate, const char *host) {
  X509 *subject = X509_STORE_CTX_get_current_cert(certificate->store);
  GENERAL_NAMES *names = subject ? (GENERAL_NAMES *)X509_get_ext_d2i(subject, NID_subject_alt_name, NULL, NULL) : NULL;
  bool covers = false;
  for (int index = 0; names && index < sk_GENERAL_NAME_num(names); index++) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, index);
    if (name->type != GEN_DNS) continue;
    const char *text = (const char *)ASN1_STRING_get0_data(name->d.dNSName);
    covers = covers || clws_wildcard_covers(text, ASN1_STRING_length(name->d.dNSName), host);
  }
  GENERAL_NAMES_free(names);
  return covers;
}

enum { clws_key_digest_size = 32 };

// The number of certificates in the chain that was built, the server's first and the root last.
static inline int clws_chain_count(const struct clws_certificate *certificate) {
  STACK_OF(X509) *chain = X509_STORE_CTX_get0_chain(certificate->store);
  return chain ? sk_X509_num(chain) : 0;
}

// Writes one certificate in DER unless `bytes` is NULL; returns its size, negative for none.
static inline int clws_chain_der(const struct clws_certificate *certificate, int index, unsigned char *bytes) {
  X509 *subject = sk_X509_value(X509_STORE_CTX_get0_chain(certificate->store), index);
  return subject ? i2d_X509(subject, bytes ? &bytes : NULL) : -1;
}

// Writes the SHA-256 of one certificate's SubjectPublicKeyInfo (RFC 7469 section 2.4).
static inline bool clws_chain_key_digest(const struct clws_certificate *certificate, int index,
                                         unsigned char digest[clws_key_digest_size]) {
  X509 *subject = sk_X509_value(X509_STORE_CTX_get0_chain(certificate->store), index);
  unsigned char *key = NULL;
  int count = subject ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(subject), &key) : -1;
  bool made = count > 0 && EVP_Digest(key, (size_t)count, digest, NULL, EVP_sha256(), NULL) == 1;
  OPENSSL_free(key);
  return made;
}

// Why TLS did not come about, as far as certificates are not the reason.
enum __attribute__((enum_extensibility(closed))) clws_tls_failure {
  clws_tls_failure_unknown,
  clws_tls_failure_cut,       // the connection ended in the middle
  clws_tls_failure_version,   // no version that both sides speak
  clws_tls_failure_identity,  // the server refuses our certificate, or wants one
  clws_tls_failure_foreign,   // what the server speaks is not TLS
};

// A place on each connection for the reason of its failure; negative when there is none. Ask once: a static variable here
// would be one for each file that uses it.
static inline int clws_tls_make_note_place(void) { return SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL); }

// Beside the reason of a failure: the server asked for a certificate.
enum { clws_tls_asked = 1 << 16 };

// The first reason that OpenSSL had for a failure on this connection, or 0. Kept by the connection, because the library
// clears OpenSSL's queue of errors before it says that something failed.
static inline int clws_tls_noted(const SSL *connection, int note) {
  return (int)(intptr_t)SSL_get_ex_data(connection, note) & ~clws_tls_asked;
}

static inline bool clws_tls_asks_for_certificate(const SSL *connection, int note) {
  return connection && ((intptr_t)SSL_get_ex_data(connection, note) & clws_tls_asked) != 0;
}

static inline void clws_tls_note(const SSL *connection, int note, int reason) {
  if (clws_tls_noted(connection, note) != 0 && reason != clws_tls_asked) return;
  intptr_t noted = (intptr_t)SSL_get_ex_data(connection, note) | reason;
  SSL_set_ex_data((SSL *)connection, note, (void *)noted);
}

// The reason of a failure in words, or NULL. Alerts of the peer are numbers that not every version has words for as a
// reason.
static inline const char *clws_tls_words(const SSL *connection, int note) {
  int reason = connection ? clws_tls_noted(connection, note) : 0;
  if (reason > SSL_AD_REASON_OFFSET) return SSL_alert_desc_string_long(reason - SSL_AD_REASON_OFFSET);
  return reason == 0 ? NULL : ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
}

// Has OpenSSL look for an alert that arrived and was not read: the library gives a connection up that was reset, whatever
// the server said before. Only for one whose handshake is over, and which is going down.
static inline void clws_tls_hear_out(SSL *connection) {
  char byte;
  if (!connection || !SSL_is_init_finished(connection)) return;
  SSL_peek(connection, &byte, 1);
  ERR_clear_error();
}

// C, because the reasons are macros with values that depend on the version of OpenSSL. Alerts of the peer are reasons too.
static inline enum clws_tls_failure clws_tls_failure_of(const SSL *connection, int note) {
  if (!connection) return clws_tls_failure_unknown;
  switch (clws_tls_noted(connection, note)) {
    case 0: return SSL_is_init_finished(connection) ? clws_tls_failure_unknown : clws_tls_failure_cut;
#if defined(SSL_R_UNEXPECTED_EOF_WHILE_READING)
    case SSL_R_UNEXPECTED_EOF_WHILE_READING: return clws_tls_failure_cut;
#endif
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_AD_REASON_OFFSET + SSL_AD_PROTOCOL_VERSION: return clws_tls_failure_version;
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST: return clws_tls_failure_foreign;
    case SSL_AD_REASON_OFFSET + SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_REASON_OFFSET + SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_REASON_OFFSET + SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_REASON_OFFSET + SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_REASON_OFFSET + SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_REASON_OFFSET + SSL_AD_UNKNOWN_CA:
    case SSL_AD_REASON_OFFSET + SSL_AD_ACCESS_DENIED:
    case SSL_AD_REASON_OFFSET + SSL_AD_CERTIFICATE_REQUIRED: return clws_tls_failure_identity;
    default: return clws_tls_failure_unknown;
  }
}

// Neither an address nor the dot at the end of an absolute name may be sent as server name (RFC 6066 section 3), and the
// library sends what it is given.
static inline void clws_tls_correct_name(SSL *connection) {
  const char *name = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
  if (!name) return;
  char host[256];
  size_t count = strlen(name);
  bool is_absolute = count > 0 && count <= sizeof host && name[count - 1] == '.';
  if (is_absolute) {
    // A copy, because what is there is freed before another name is taken.
    memcpy(host, name, count - 1);
    host[count - 1] = 0;
    name = host;
  }
  unsigned char address[16];
  bool is_address = name[0] == '[' || strchr(name, ':') || inet_pton(AF_INET, name, address) == 1;
  if (is_address) name = NULL;
  if (is_address || is_absolute) SSL_set_tlsext_host_name(connection, name);
}

// Follows a handshake. Reasons of failures are noted here, while they are to be had. C, because the places are macros.
static inline void clws_tls_progress(const SSL *connection, int place, int result, int note) {
  if (place & SSL_CB_ALERT) {
    bool is_fatal = (result >> 8) == SSL3_AL_FATAL;
    if ((place & SSL_CB_READ) && is_fatal) clws_tls_note(connection, note, SSL_AD_REASON_OFFSET + (result & 0xFF));
    return;
  }
  if (SSL_get_state(connection) == TLS_ST_CR_CERT_REQ) clws_tls_note(connection, note, clws_tls_asked);
  if (place == SSL_CB_CONNECT_EXIT && result <= 0) clws_tls_note(connection, note, ERR_GET_REASON(ERR_peek_error()));
  if (place & SSL_CB_HANDSHAKE_START) clws_tls_correct_name((SSL *)connection);
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

// Takes the certificate to show to servers that ask for one, and those of its issuers after it.
static inline bool clws_tls_use_certificate(SSL_CTX *tls, const void *pem, size_t count) {
  BIO *text = BIO_new_mem_buf(pem, (int)count);
  X509 *own = text ? PEM_read_bio_X509(text, NULL, NULL, NULL) : NULL;
  bool usable = own && SSL_CTX_use_certificate(tls, own) == 1;
  X509_free(own);
  X509 *issuer;
  while (usable && (issuer = PEM_read_bio_X509(text, NULL, NULL, NULL))) {
    usable = SSL_CTX_add1_chain_cert(tls, issuer) == 1;
    X509_free(issuer);
  }
  if (usable) usable = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  ERR_clear_error();
  BIO_free(text);
  return usable;
}

// Without it OpenSSL would ask for a password on the terminal.
static inline int clws_tls_no_password(char *text, int size, int is_writing, void *user) {
  (void)text, (void)size, (void)is_writing, (void)user;
  return -1;
}

// Takes the certificate's key, which must not be encrypted. OpenSSL reads the bytes where they are and keeps the number,
// which it clears when it is done with it: no copy of the text is made.
static inline bool clws_tls_use_key(SSL_CTX *tls, const void *pem, size_t count) {
  BIO *text = BIO_new_mem_buf(pem, (int)count);
  EVP_PKEY *key = text ? PEM_read_bio_PrivateKey(text, NULL, clws_tls_no_password, NULL) : NULL;
  bool usable = key && SSL_CTX_use_PrivateKey(tls, key) == 1 && SSL_CTX_check_private_key(tls) == 1;
  EVP_PKEY_free(key);
  ERR_clear_error();
  BIO_free(text);
  return usable;
}

// As above, from a file: the bytes never come to us.
static inline bool clws_tls_use_key_file(SSL_CTX *tls, const char *path) {
  SSL_CTX_set_default_passwd_cb(tls, clws_tls_no_password);
  bool usable = SSL_CTX_use_PrivateKey_file(tls, path, SSL_FILETYPE_PEM) == 1 && SSL_CTX_check_private_key(tls) == 1;
  ERR_clear_error();
  return usable;
}

// A client configuration: TLS 1.2 or 1.3 at least, chain verified, keys of 112 bits of security at least (OpenSSL's level
// 2), no session reuse (a resumed session skips verification). C, because most of OpenSSL's setters are macros.
static inline SSL_CTX *clws_tls_create(bool only_1_3, void (*progress)(const SSL *, int, int)) {
  SSL_CTX *tls = SSL_CTX_new(TLS_client_method());
  if (!tls) return NULL;
  SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
  SSL_CTX_set_session_cache_mode(tls, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_info_callback(tls, progress);
  if (SSL_CTX_get_security_level(tls) < 2) SSL_CTX_set_security_level(tls, 2);
  if (SSL_CTX_set_min_proto_version(tls, only_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION) == 1) return tls;
  SSL_CTX_free(tls);
  return NULL;
}

static inline bool clws_tls_add_system_roots(SSL_CTX *tls) {
  return SSL_CTX_set_default_verify_paths(tls) == 1;
}

#endif
