// Stacks, which are macros in BoringSSL.
#ifndef LINKSPAN_STUB_BORINGSSL_SHIMS_H
#define LINKSPAN_STUB_BORINGSSL_SHIMS_H
#include "boringssl.h"

STACK_OF_X509 *CNIOBoringSSLShims_sk_X509_new_null(void);
void CNIOBoringSSLShims_sk_X509_pop_free(STACK_OF_X509 *, void (*)(X509 *));
size_t CNIOBoringSSLShims_sk_X509_push(STACK_OF_X509 *, X509 *);
size_t CNIOBoringSSLShims_sk_X509_num(const STACK_OF_X509 *);
X509 *CNIOBoringSSLShims_sk_X509_value(const STACK_OF_X509 *, size_t);
size_t CNIOBoringSSLShims_sk_GENERAL_NAME_num(const GENERAL_NAMES *);
GENERAL_NAME *CNIOBoringSSLShims_sk_GENERAL_NAME_value(const GENERAL_NAMES *, size_t);
#endif
