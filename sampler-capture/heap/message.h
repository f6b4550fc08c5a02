/* message.h - which packets are messages of fuchsia.memory.sampler.
 *
 * Facts: docs/formats/memory-sampler.md sections 2 to 4.  */
#ifndef HEAP_MESSAGE_H
#define HEAP_MESSAGE_H

#include <fxt/fidl_sampler.h>

#include <stddef.h>
#include <stdint.h>

enum message_verdict {
    MESSAGE_ACCEPTED, /* a message of the protocol, either generation, with all its members */
    MESSAGE_SKIPPED,  /* a flexible method that we do not know: nothing happens */
    MESSAGE_REJECTED, /* anything else: it ends its connection */
};

/* Judge one packet.  *out is what it says, borrowing from bytes, when it is accepted; *why a phrase
 * when it is not.  */
enum message_verdict message_judge(const uint8_t *bytes, size_t length, struct fidl_message *out,
                                   const char **why);

#endif /* HEAP_MESSAGE_H */
