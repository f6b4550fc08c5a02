/* identity.h - which capture this is: a hash of its bytes.  Private to libstore.
 *
 * 128 bits, fast, and the same however the bytes come in pieces.  Not for enemies: who wants to can
 * make two captures of one hash, and then only gets the second refused.  */
#ifndef STORE_IDENTITY_H
#define STORE_IDENTITY_H

#include <stddef.h>
#include <stdint.h>

#define STORE_IDENTITY_BYTES 16

struct store_identity {
    uint64_t lanes[4];
    uint64_t length;
    unsigned char rest[32]; /* bytes that do not make a stripe yet */
    size_t rest_length;
};

void store_identity_start(struct store_identity *identity);
void store_identity_add(struct store_identity *identity, const void *bytes, size_t length);
/* Stand for bytes that were not seen.  */
void store_identity_skip(struct store_identity *identity, uint64_t length);
void store_identity_end(struct store_identity *identity, unsigned char out[STORE_IDENTITY_BYTES]);

#endif /* STORE_IDENTITY_H */
