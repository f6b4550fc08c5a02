/* address_order.h - addresses in ascending order.  */
#ifndef SYMBOLIZE_ADDRESS_ORDER_H
#define SYMBOLIZE_ADDRESS_ORDER_H

#include <fxt/symbolize.h>

/* Memory that one batch leaves to the next.  All zero is none.  */
struct sym_scratch {
    void *bytes;
    size_t size;
};

/* Addresses and the order to look at them in.  They stay where they are: a key is the number of an
 * address, below its distance from the lowest one where both fit into a word.  */
struct sym_order {
    const uint64_t *vaddrs; /* as they were given; borrowed */
    const uint64_t *keys;   /* NULL: they ascend as they are */
    size_t count;
    bool packed;         /* keys hold distances */
    unsigned index_bits; /* of a packed key; the distance is above */
    uint64_t lowest;
};

/* Sorts count addresses, equal ones by their number; keys lie in scratch, until it is used again or
 * released.  SYM_OK or SYM_NO_MEMORY.  */
enum sym_status sym_order_init(struct sym_order *order, const uint64_t *vaddrs, size_t count,
                               struct sym_scratch *scratch);

void sym_scratch_release(struct sym_scratch *scratch);

/* The number of the i-th address, and the address.  */
static inline size_t sym_order_index(const struct sym_order *order, size_t i)
{
    if (!order->keys)
        return i;
    if (!order->packed)
        return (size_t)order->keys[i];
    return (size_t)(order->keys[i] & ((UINT64_C(1) << order->index_bits) - 1));
}

static inline uint64_t sym_order_vaddr(const struct sym_order *order, size_t i)
{
    if (order->packed)
        return order->lowest + (order->keys[i] >> order->index_bits);
    return order->vaddrs[sym_order_index(order, i)];
}

#endif /* SYMBOLIZE_ADDRESS_ORDER_H */
