/* record_stream.h - a trace as one stream of records into a file, plain or compressed.
 *
 * Whole records reach the file, many with one write(2).  Compressed, the file is a row of zstd
 * frames of a second each, so that at most a second is lost when the capture is killed.  After a
 * failed write the file is cut behind the last whole record or frame, where that is possible.
 *
 * Functions that return bool return false once the trace cannot go on: stream_errno() says why.  */
#ifndef CAPTURE_RECORD_STREAM_H
#define CAPTURE_RECORD_STREAM_H

#include <fxt/fxt.h>
#include "sampler-capture/capture_modules.h"
#include "sampler-capture/host.h"
#include "sampler-capture/proc_maps.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_TOOL_PROVIDER 0xffff0000U /* "sampler-capture": names, modules, sessions, losses */

struct stream;
struct output;

/* Into fd, which is borrowed.  NULL when there is no memory.  */
struct stream *stream_open(int fd, bool compress);

bool stream_put(struct stream *stream, const struct fxt_record *record);

bool stream_magic(struct stream *stream);

/* All our ticks are nanoseconds of CLOCK_MONOTONIC.  */
bool stream_init(struct stream *stream);

/* A provider's name, and the initialization record of its own; what follows is its.  */
bool stream_introduce(struct stream *stream, uint32_t id, const char *name);

/* What follows is that provider's, which was introduced before.  */
bool stream_switch(struct stream *stream, uint32_t id);

/* A provider says that it lost records.  */
bool stream_provider_loss(struct stream *stream, uint32_t id);

/* Whole records as they are, at most 512 KiB at once, of the provider that is current.  */
bool stream_raw(struct stream *stream, const void *records, size_t size);

struct fxt_arg stream_number(const char *name, uint64_t value);
struct fxt_arg stream_text(const char *name, const char *value);

/* An event of category fxt.capture, an instant or a counter with that id.  */
bool stream_event(struct stream *stream, unsigned type, const char *name, uint64_t ticks,
                  uint64_t id, const struct fxt_arg *args, size_t arg_count);

/* What the trace is of: magic, our provider and the instant fxt.capture/session, with count
 * arguments, at most STREAM_OWN_ARGS, that tell how it was captured before those of *session.  */
#define STREAM_OWN_ARGS 6
bool stream_session(struct stream *stream, const struct trace_session *session,
                    const struct fxt_arg *args, size_t count);

/* Names and address maps; any bytes are names.  Of the provider that is current.  */
bool stream_process(struct stream *stream, uint64_t koid, const char *name);
bool stream_thread(struct stream *stream, uint64_t koid, uint64_t process_koid, const char *name);
bool stream_module(struct stream *stream, uint64_t process_koid, const struct module *module,
                   uint16_t id, uint64_t ticks);
bool stream_mapping(struct stream *stream, uint64_t process_koid, const struct mapping *mapping,
                    uint16_t id);

/* Bring everything to the file; of a compressed trace, every frame that is a second old, or with
 * last whatever there is.  */
bool stream_flush(struct stream *stream, bool last);

/* Let a new file begin with what there is so far, and give it its name.  False with errno.  */
bool stream_publish(struct stream *stream, struct output *output);

/* errno of the failure, ENOMEM included; 0 if there was none.  */
int stream_errno(const struct stream *stream);

/* Bytes in the file.  */
uint64_t stream_bytes(const struct stream *stream);

/* Accepts NULL.  Does not flush.  */
void stream_close(struct stream *stream);

#endif /* CAPTURE_RECORD_STREAM_H */
