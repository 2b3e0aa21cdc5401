// BoringSSL, as far as the package uses it.
#ifndef LINKSPAN_STUB_BORINGSSL_H
#define LINKSPAN_STUB_BORINGSSL_H
#include <stddef.h>
#include <stdint.h>

typedef struct x509_st X509;
typedef struct x509_store_st X509_STORE;
typedef struct x509_store_ctx_st X509_STORE_CTX;
typedef struct x509_pubkey_st X509_PUBKEY;
typedef struct stack_st_X509 STACK_OF_X509;
typedef struct stack_st_GENERAL_NAME GENERAL_NAMES;
typedef struct bio_st BIO;
typedef struct evp_pkey_st EVP_PKEY;
typedef struct asn1_string_st ASN1_STRING;
typedef ASN1_STRING ASN1_IA5STRING;
typedef int ASN1_BOOLEAN;
typedef struct GENERAL_NAME_st {
    int type;
    union {
        char *ptr;
        ASN1_IA5STRING *dNSName;
    } d;
} GENERAL_NAME;

X509_STORE *X509_STORE_new(void);
void X509_STORE_free(X509_STORE *);
int X509_STORE_add_cert(X509_STORE *, X509 *);
int X509_STORE_set_default_paths(X509_STORE *);
int X509_STORE_load_locations(X509_STORE *, const char *, const char *);
const char *X509_get_default_cert_file_env(void);
const char *X509_get_default_cert_dir_env(void);
X509_STORE_CTX *X509_STORE_CTX_new(void);
void X509_STORE_CTX_free(X509_STORE_CTX *);
int X509_STORE_CTX_init(X509_STORE_CTX *, X509_STORE *, X509 *, STACK_OF_X509 *);
int X509_STORE_CTX_set_default(X509_STORE_CTX *, const char *);
int X509_STORE_CTX_get_error(const X509_STORE_CTX *);
int X509_STORE_CTX_get_error_depth(const X509_STORE_CTX *);
STACK_OF_X509 *X509_STORE_CTX_get0_chain(const X509_STORE_CTX *);
int X509_verify_cert(X509_STORE_CTX *);
const char *X509_verify_cert_error_string(long);
int X509_up_ref(X509 *);
int X509_check_issued(X509 *, X509 *);
void X509_free(X509 *);
X509 *d2i_X509(X509 **, const uint8_t **, long);
int i2d_X509(X509 *, uint8_t **);
int i2d_X509_PUBKEY(const X509_PUBKEY *, uint8_t **);
X509_PUBKEY *X509_get_X509_PUBKEY(const X509 *);
EVP_PKEY *X509_get_pubkey(X509 *);
int X509_get_signature_nid(const X509 *);
int X509_check_ip_asc(X509 *, const char *, unsigned int);
int X509_check_host(X509 *, const char *, size_t, unsigned int, char **);
void *X509_get_ext_d2i(const X509 *, int, int *, int *);
void GENERAL_NAMES_free(GENERAL_NAMES *);
const uint8_t *ASN1_STRING_get0_data(const ASN1_STRING *);
int ASN1_STRING_length(const ASN1_STRING *);
void EVP_PKEY_free(EVP_PKEY *);
int EVP_PKEY_id(const EVP_PKEY *);
int EVP_PKEY_bits(const EVP_PKEY *);
BIO *BIO_new_mem_buf(const void *, long);
int BIO_free(BIO *);
X509 *PEM_read_bio_X509(BIO *, X509 **, void *, void *);
void ERR_clear_error(void);
uint32_t ERR_peek_last_error(void);
static inline int ERR_GET_REASON(uint32_t code) { return (int)(code & 0xfff); }
void OPENSSL_free(void *);
uint8_t *SHA256(const uint8_t *, size_t, uint8_t *);

#define SHA256_DIGEST_LENGTH 32
#define PEM_R_NO_START_LINE 110
#define EVP_PKEY_RSA 6
#define EVP_PKEY_EC 408
#define EVP_PKEY_ED25519 949
#define NID_md5WithRSAEncryption 8
#define NID_sha1WithRSAEncryption 65
#define NID_sha1WithRSA 115
#define NID_ecdsa_with_SHA1 416
#define NID_dsaWithSHA1 113
#define NID_subject_alt_name 85
#define GEN_DNS 2
#define GEN_IPADD 7
#define X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS 0x4
#define X509_CHECK_FLAG_NEVER_CHECK_SUBJECT 0x20
#define X509_V_OK 0
#define X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT 2
#define X509_V_ERR_CERT_NOT_YET_VALID 9
#define X509_V_ERR_CERT_HAS_EXPIRED 10
#define X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT 18
#define X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY 20
#define X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE 21
#define X509_V_ERR_INVALID_PURPOSE 26
#define SSL_R_UNSUPPORTED_PROTOCOL 240
#define SSL_R_WRONG_SSL_VERSION 266
#define SSL_R_WRONG_VERSION_NUMBER 247
#define SSL_R_HTTP_REQUEST 155
#define SSL_AD_REASON_OFFSET 1000
#define SSL_AD_PROTOCOL_VERSION 70
#define SSL_AD_BAD_CERTIFICATE 42
#define SSL_AD_UNSUPPORTED_CERTIFICATE 43
#define SSL_AD_CERTIFICATE_REVOKED 44
#define SSL_AD_CERTIFICATE_EXPIRED 45
#define SSL_AD_CERTIFICATE_UNKNOWN 46
#define SSL_AD_UNKNOWN_CA 48
#define SSL_AD_ACCESS_DENIED 49
#define SSL_AD_CERTIFICATE_REQUIRED 116
#endif
