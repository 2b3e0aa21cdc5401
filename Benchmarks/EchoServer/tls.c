// TLS for the server: a certificate of its own making, and reads and writes that look like a socket's.

#if defined(__linux__)

#include "tls.h"

#include <errno.h>

#if defined(ECHO_SERVER_TLS)

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <time.h>

static X509 *make_certificate(EVP_PKEY *key) {
    X509 *certificate = X509_new();
    if (certificate == NULL) {
        return NULL;
    }
    X509_set_version(certificate, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), (long)time(NULL));
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
    X509_gmtime_adj(X509_getm_notAfter(certificate), 86400);
    X509_set_pubkey(certificate, key);
    X509_NAME *name = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"echo-server", -1, -1, 0);
    X509_set_issuer_name(certificate, name);
    static const struct { int kind; const char *value; } extensions[] = {
        {NID_basic_constraints, "critical,CA:TRUE"}, {NID_subject_alt_name, "IP:127.0.0.1,IP:::1,DNS:localhost"}};
    for (size_t index = 0; index < sizeof(extensions) / sizeof(*extensions); index++) {
        X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, NULL, extensions[index].kind, extensions[index].value);
        X509_add_ext(certificate, extension, -1);
        X509_EXTENSION_free(extension);
    }
    X509_sign(certificate, key, EVP_sha256());
    return certificate;
}

SSL_CTX *tls_open(const char *path) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key == NULL ? NULL : make_certificate(key);
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    FILE *file = fopen(path, "w");
    bool made = certificate != NULL && context != NULL && file != NULL && PEM_write_X509(file, certificate) == 1 &&
        SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1;
    if (file != NULL) {
        made = fclose(file) == 0 && made;
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (!made) {
        SSL_CTX_free(context);
        return NULL;
    }
    SSL_CTX_set_mode(
        context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    return context;
}

SSL *tls_accept(SSL_CTX *context, int fd) {
    SSL *tls = SSL_new(context);
    if (tls != NULL) {
        SSL_set_fd(tls, fd);
        SSL_set_accept_state(tls);
    }
    return tls;
}

static ssize_t failed(SSL *tls, int result) {
    int error = SSL_get_error(tls, result);
    ERR_clear_error();
    if (error == SSL_ERROR_ZERO_RETURN) {
        return 0;
    }
    errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : EPIPE;
    return -1;
}

ssize_t tls_read(SSL *tls, void *bytes, size_t size) {
    size_t count = 0;
    while (count < size) {
        int result = SSL_read(tls, (char *)bytes + count, (int)(size - count));
        if (result <= 0) {
            return count > 0 ? (ssize_t)count : failed(tls, result);
        }
        count += (size_t)result;
    }
    return (ssize_t)count;
}

ssize_t tls_write(SSL *tls, const void *bytes, size_t count) {
    int result = SSL_write(tls, bytes, (int)count);
    return result > 0 ? result : failed(tls, result);
}

void tls_free(SSL *tls) { SSL_free(tls); }

#else

SSL_CTX *tls_open(const char *path) {
    (void)path;
    errno = ENOTSUP;
    return NULL;
}

SSL *tls_accept(SSL_CTX *context, int fd) {
    (void)context, (void)fd;
    return NULL;
}

ssize_t tls_read(SSL *tls, void *bytes, size_t size) {
    (void)tls, (void)bytes, (void)size;
    errno = ENOTSUP;
    return -1;
}

ssize_t tls_write(SSL *tls, const void *bytes, size_t count) { return tls_read(tls, (void *)bytes, count); }

void tls_free(SSL *tls) { (void)tls; }

#endif

#endif
