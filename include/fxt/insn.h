/* insn.h - instruction traces: packets of Intel Processor Trace and the code that ran become
 * blocks of instructions, and those become calls, returns and stacks with exact times.
 *
 * This header is the manual of libinsn.  It has four parts:
 *
 *   opcodes   which instructions leave a trace, by their bytes
 *   encoder   the packets that a processor would write for instructions that somebody stepped
 *   stream    packets and an address space to steps: blocks of instructions, events, gaps
 *   stacks    steps to calls and returns
 *
 *     insn_code_open(&code, &error);
 *     insn_code_add(code, bytes, size, &section, &error);
 *     insn_space_open(code, &space, &error);
 *     insn_space_map(space, address, section, 0, size, &error);
 *     insn_stream_open(&options, space, take_steps, context, &stream, &error);
 *     while (there is more)
 *         insn_stream_feed(stream, packets, size, &error);
 *     insn_stream_finish(stream, &error);
 *
 * Where take_steps is insn_stacks_take, and its context a struct insn_stacks, the receiver of the
 * stacks is given spans of functions, charges to stacks, and marks.
 *
 * Packets are hostile input.  A stretch of them that cannot be decoded becomes a gap with its
 * reason, its bytes and its time, and decoding goes on at the next PSB packet (the place where a
 * decoder can begin).  Memory follows how much code there is, not how long the trace is.
 *
 * Ticks are those of the time stamp counter (TSC).  Nothing here prints or exits.  A handle belongs
 * to one thread at a time.  */
#ifndef INSN_H
#define INSN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define INSN_API __attribute__((visibility("default")))

/* ---- Status and errors ---- */

/* Values are part of the interface and never reused.  */
enum insn_status {
    INSN_OK = 0,
    INSN_NO_MEMORY = 1, /* an allocation failed */
    INSN_IO = 2,        /* the system refused something; error->system_errno says what */
    INSN_INVALID = 3,   /* an argument breaks the contract */
    INSN_LIMIT = 4,     /* more code than INSN_MAX_CODE_BYTES, or more sections than fit */
    INSN_STOPPED = 5,   /* a callback asked to stop */
};

/* A description of the failure for people.  Belongs to the caller, may be NULL; written on every
 * status but INSN_OK.  */
struct insn_error {
    enum insn_status status;
    int system_errno;
    char message[160]; /* a phrase: no newline, no final dot */
};

/* Name and version of the decoder: "libipt 2.0".  Lives forever.  */
INSN_API const char *insn_decoder_name(void);

/* ---- Opcodes ---- */

/* The kinds of instructions that matter to a trace.  Values are part of the interface.  */
enum insn_class {
    INSN_CLASS_OTHER = 0,         /* goes on with the next instruction */
    INSN_CLASS_CONDITIONAL = 1,   /* jcc, loop, jrcxz: one TNT bit */
    INSN_CLASS_JUMP = 2,          /* direct: no packet */
    INSN_CLASS_JUMP_INDIRECT = 3, /* TIP */
    INSN_CLASS_CALL = 4,          /* direct: no packet */
    INSN_CLASS_CALL_INDIRECT = 5, /* TIP */
    INSN_CLASS_RETURN = 6,        /* TIP, or a TNT bit when it returns to where it was called */
    INSN_CLASS_FAR = 7,           /* syscall, sysret, int, iret, far calls and returns */
};

#define INSN_MAX_LENGTH 15 /* bytes of one instruction */

struct insn_opcode {
    enum insn_class branch;
    uint8_t length;  /* bytes; 0 for INSN_CLASS_OTHER, whose length is not looked at */
    bool repeats;    /* a string instruction with a repeat prefix: single-stepping stops in it */
    bool calls_next; /* a direct call of the next instruction, to read the program counter */
};

/* Classify the 64-bit instruction at bytes, of which size can be read.  An instruction that is cut
 * off is INSN_CLASS_OTHER.  */
INSN_API void insn_classify(const uint8_t *bytes, size_t size, struct insn_opcode *out);

/* ---- Encoder ---- */

/* Which packets carry the time between PSB packets.  TSC packets come with each PSB and whenever
 * tracing is enabled.  */
enum insn_timing {
    INSN_TIMING_TSC = 0, /* nothing else: times of what lies between are spread */
    INSN_TIMING_MTC = 1, /* a packet whenever the crystal clock passed a period */
    INSN_TIMING_CYC = 2, /* that, and cycles before each packet of branches */
};

/* How a trace was made: what a decoder needs to know.  All zero is a trace without MTC and CYC
 * packets by an unknown processor.  */
struct insn_config {
    uint16_t family; /* of the processor (Intel); 0: unknown, no errata are applied */
    uint8_t model;
    uint8_t stepping;
    uint8_t mtc_freq;        /* IA32_RTIT_CTL.MTCFreq */
    uint8_t nom_freq;        /* maximum non-turbo ratio; 0 unknown */
    uint32_t cpuid_0x15_eax; /* ticks of the TSC = crystal ticks * ebx / eax */
    uint32_t cpuid_0x15_ebx;
};

/* A processor of our own making: 1 cycle is 1 tick, 64 ticks are one of its crystal's.  */
INSN_API void insn_encoder_config(struct insn_config *out);

struct insn_encoder_options {
    size_t size; /* sizeof(struct insn_encoder_options) */
    enum insn_timing timing;
    bool no_return_compression; /* IA32_RTIT_CTL.DisRETC */
    uint32_t psb_bytes;         /* a PSB packet after so many bytes; 0: 4096.  At least 256 */
};

/* Take the packets up to the next PSB packet, which begin with one themselves (but for the first,
 * which begins with what came first).  Returns 0, or an errno value that ends the encoding.  */
typedef int (*insn_write_fn)(void *context, const uint8_t *bytes, size_t size);

struct insn_encoder;

/* An encoder of one logical processor, or of one thread.  Its failures are remembered:
 * insn_encoder_status().  options may be NULL.  */
INSN_API enum insn_status insn_encoder_open(const struct insn_encoder_options *options,
                                            insn_write_fn write, void *context,
                                            struct insn_encoder **out, struct insn_error *error);

/* Tracing begins, or goes on, at ip: user code runs.  Ticks never decrease over all calls.  */
INSN_API void insn_encoder_enable(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks);

/* An instruction at from was executed, and the next one is at to.  Far transfers end tracing: their
 * target is not used.  */
INSN_API void insn_encoder_step(struct insn_encoder *encoder, uint64_t from,
                                const struct insn_opcode *opcode, uint64_t to, uint64_t ticks);

/* Something else than an instruction led from from (not executed) to to: a signal's handler.  */
INSN_API void insn_encoder_branch(struct insn_encoder *encoder, uint64_t from, uint64_t to,
                                  uint64_t ticks);

/* Tracing ends before the instruction at ip: an interrupt, a context switch.  Nothing happens when
 * it has ended already.  */
INSN_API void insn_encoder_disable(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks);

/* A ptwrite instruction at ip wrote value.  */
INSN_API void insn_encoder_ptwrite(struct insn_encoder *encoder, uint64_t value, uint64_t ticks);

/* From now on packets are lost, until the call of insn_encoder_resume(): with tracing enabled at
 * ip, or disabled.  */
INSN_API void insn_encoder_lose(struct insn_encoder *encoder, uint64_t ticks);
INSN_API void insn_encoder_resume(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks);

/* Write a PSB packet: what follows can be decoded without what came before.  ip is where the next
 * instruction is, if tracing is enabled.  */
INSN_API void insn_encoder_sync(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks);

/* Write what is held back.  */
INSN_API void insn_encoder_flush(struct insn_encoder *encoder);

/* INSN_OK, INSN_NO_MEMORY or INSN_IO; packets are complete up to the failure.  */
INSN_API enum insn_status insn_encoder_status(const struct insn_encoder *encoder);
INSN_API uint64_t insn_encoder_bytes(const struct insn_encoder *encoder);
INSN_API void insn_encoder_close(struct insn_encoder *encoder); /* accepts NULL; does not flush */

/* ---- Code and address spaces ---- */

/* Pieces of code, each stored once: what several address spaces map.  */
struct insn_code;

#define INSN_MAX_CODE_BYTES (UINT64_C(4) << 30) /* all sections together */

INSN_API enum insn_status insn_code_open(struct insn_code **out, struct insn_error *error);

/* Copy size bytes, at least one; *section is their number, from 1.  Returns INSN_OK, INSN_LIMIT,
 * INSN_IO, INSN_INVALID or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_code_add(struct insn_code *code, const void *bytes, size_t size,
                                        uint32_t *section, struct insn_error *error);
INSN_API void insn_code_close(struct insn_code *code); /* after its spaces; accepts NULL */

/* Which code is at which address, of one process.  */
struct insn_space;

INSN_API enum insn_status insn_space_open(struct insn_code *code, struct insn_space **out,
                                          struct insn_error *error);

/* From now on size bytes of a section, from offset on, are at address; what was there is not.
 * Streams of the space see it in what they have not decoded yet: flush them first.  Returns
 * INSN_OK, INSN_INVALID (not inside the section, or around 2^64) or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_space_map(struct insn_space *space, uint64_t address,
                                         uint32_t section, uint64_t offset, uint64_t size,
                                         struct insn_error *error);

/* Copy up to size bytes at address; returns how many there are.  */
INSN_API size_t insn_space_read(const struct insn_space *space, uint64_t address, void *buffer,
                                size_t size);
INSN_API void insn_space_close(struct insn_space *space); /* after its streams; accepts NULL */

/* ---- Stream: packets to steps ---- */

enum insn_step_kind {
    /* count instructions from ip to last_ip, one after another in memory.  What ends in a branch
     * may come in several blocks, all but the last of INSN_CLASS_OTHER.  */
    INSN_STEP_BLOCK = 0,
    INSN_STEP_ENABLED = 1,     /* tracing begins or goes on at ip */
    INSN_STEP_DISABLED = 2,    /* a far transfer, or leaving a filtered range, ended tracing */
    INSN_STEP_STOPPED = 3,     /* something else ended tracing before the instruction at ip */
    INSN_STEP_BRANCH = 4,      /* an interrupt or a signal: from ip, not executed, to last_ip */
    INSN_STEP_OVERFLOW = 5,    /* the processor lost packets; ip is where it goes on, 0: disabled */
    INSN_STEP_SPECULATIVE = 6, /* a transaction begins */
    INSN_STEP_COMMITTED = 7,   /* it ended well */
    INSN_STEP_ABORTED = 8,     /* it was undone */
    INSN_STEP_PTWRITE = 9,     /* last_ip is the value that was written */
    INSN_STEP_GAP = 10, /* bytes that could not be decoded: reason, offset ip, size last_ip */
};

/* Why bytes could not be decoded.  Values are part of the interface.  */
enum insn_gap_reason {
    INSN_GAP_NONE = 0,
    INSN_GAP_NO_SYNC = 1,      /* no PSB packet before them: the start of a circular buffer */
    INSN_GAP_BAD_PACKET = 2,   /* no packet of this format */
    INSN_GAP_NO_CODE = 3,      /* the code at an address is not known */
    INSN_GAP_MISMATCH = 4,     /* packets and code contradict each other */
    INSN_GAP_ENDLESS = 5,      /* code that never needs a packet */
    INSN_GAP_DISCONTINUED = 6, /* the next PSB packet continues elsewhere; no bytes */
    INSN_GAP_REASONS = 7,
};

/* "no_sync", ...; "unknown" for anything out of range.  Lives forever.  */
INSN_API const char *insn_gap_reason_name(enum insn_gap_reason reason);

struct insn_step {
    uint8_t kind;   /* enum insn_step_kind */
    uint8_t branch; /* block: enum insn_class of the last instruction */
    uint8_t length; /* block: bytes of the last instruction, if it is a branch; 0 unknown */
    uint8_t reason; /* gap: enum insn_gap_reason */
    uint16_t count; /* block: instructions */
    bool has_ticks;
    bool calls_next; /* block: struct insn_opcode */
    uint64_t ip;
    uint64_t last_ip;
    /* The last time that a packet told before this step; it never decreases but for broken
     * packets.  */
    uint64_t ticks;
};

/* Take count steps in order, borrowed for the call.  Returns INSN_OK, or INSN_STOPPED.  */
typedef enum insn_status (*insn_steps_fn)(void *context, const struct insn_step *steps,
                                          size_t count);

struct insn_stream_options {
    size_t size; /* sizeof(struct insn_stream_options) */
    struct insn_config config;
    unsigned threads;     /* that decode; 0: one for each processor, at most 8 */
    uint32_t piece_bytes; /* packets that one of them takes at a time; 0: 16 KiB */
};

struct insn_stream;

/* What was counted up to now.  Bytes of gaps, of packets decoded and of what is still held back add
 * up to the bytes fed.  */
struct insn_totals {
    uint64_t bytes;        /* fed */
    uint64_t instructions; /* delivered */
    uint64_t blocks;
    uint64_t overflows;
    uint64_t gaps[INSN_GAP_REASONS];
    uint64_t gap_bytes[INSN_GAP_REASONS];
};

/* The packets of one logical processor or thread.  space is borrowed and must outlive the stream.
 * options may be NULL.  Returns INSN_OK, INSN_INVALID or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_stream_open(const struct insn_stream_options *options,
                                           struct insn_space *space, insn_steps_fn take,
                                           void *context, struct insn_stream **out,
                                           struct insn_error *error);

/* Take the next size bytes, cut anywhere.  Steps come when enough bytes are there, from this
 * thread.  */
INSN_API enum insn_status insn_stream_feed(struct insn_stream *stream, const void *bytes,
                                           size_t size, struct insn_error *error);

/* Decode what there is up to the last PSB packet: before the address space changes.  */
INSN_API enum insn_status insn_stream_flush(struct insn_stream *stream, struct insn_error *error);

/* Decode the rest.  */
INSN_API enum insn_status insn_stream_finish(struct insn_stream *stream, struct insn_error *error);

INSN_API const struct insn_totals *insn_stream_totals(const struct insn_stream *stream);
INSN_API void insn_stream_close(struct insn_stream *stream); /* accepts NULL */

/* ---- Stacks: steps to calls and returns ---- */

/* The function that an address belongs to.  Jumps inside one function are no calls.  */
struct insn_function {
    uint64_t start, end; /* addresses [start, end) for which the answer is the same */
    uint64_t id;         /* parts of one function have one id, whatever it is; 0: not known */
};

/* How a frame came to be on the stack.  Values are part of the interface.  */
enum insn_entry {
    INSN_ENTRY_CALL = 0,
    INSN_ENTRY_JUMP = 1,     /* a jump out of another function: a tail call, a PLT stub */
    INSN_ENTRY_SIGNAL = 2,   /* a signal's handler, or another thing that no instruction led to */
    INSN_ENTRY_OPEN = 3,     /* it ran already when the stack was first known */
    INSN_ENTRY_RESUMED = 4,  /* a coroutine that goes on, where another stack was */
    INSN_ENTRY_UNTRACED = 5, /* not a function: a system call, a page fault, another thread */
};

/* A function that was on the stack for a time, told when it leaves it: callers come after what
 * they called.  */
struct insn_span {
    uint64_t address; /* where it was entered, or first seen; untraced: of the last instruction */
    uint64_t site;    /* of the call or jump that led to it; 0: not known */
    uint64_t begin_ticks, end_ticks;
    uint64_t order; /* of spans that began at one time, the smaller one began first.  Below 2^44 */
    uint8_t entry;  /* enum insn_entry */
    bool cut;       /* it had not ended: packets were lost, or the trace ends here */
};

/* What was done with one stack.  */
struct insn_charge {
    uint64_t instructions;
    uint64_t ticks;
    uint64_t calls; /* how often its last function was entered */
};

/* A moment: a PTWRITE, an overflow or a gap.  After the last two the stack is unknown.  */
struct insn_mark {
    uint8_t kind;   /* INSN_STEP_PTWRITE, INSN_STEP_OVERFLOW or INSN_STEP_GAP */
    uint8_t reason; /* gap: enum insn_gap_reason */
    uint64_t ticks;
    uint64_t ip;    /* PTWRITE: of the instruction, 0 not known; gap: offset of its first byte */
    uint64_t value; /* PTWRITE: what was written; gap: its bytes */
};

/* Who receives what happened.  Members may be NULL, but for function.  Those that return a status
 * end everything unless it is INSN_OK.  Stacks are numbers of the receiver's: 0 is the empty
 * stack.  */
struct insn_receiver {
    void *context;
    void (*function)(void *context, uint64_t address, struct insn_function *out);
    /* The number of the stack that has callers below and address on top.  Callers' addresses are
     * those of their call instructions; the last one is a block's first instruction, or where a
     * function was entered.  */
    enum insn_status (*stack)(void *context, uint32_t callers, uint64_t address, uint32_t *out);
    enum insn_status (*charge)(void *context, uint32_t stack, const struct insn_charge *charge);
    enum insn_status (*span)(void *context, const struct insn_span *span);
    enum insn_status (*mark)(void *context, const struct insn_mark *mark);
};

#define INSN_MAX_DEPTH (UINT32_C(1) << 20) /* deeper calls stay unseen */

/* The stack of one logical processor's or thread's steps.
 *
 * A return goes to the nearest caller whose return address it has, so that longjmp() and exceptions
 * end what they pass over.  A return to none of them goes on with a stack that was left before (a
 * coroutine), is a jump (a retpoline), or leaves the first function that was seen, whose caller
 * then is on the stack since its beginning.
 *
 * Times are exact where a packet told them.  Between two such places, instructions take equally
 * long.  What tracing left out has the time from the last packet before to the first one behind
 * it.  */
struct insn_stacks;

/* Returns INSN_OK, INSN_INVALID (no function) or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_stacks_open(const struct insn_receiver *receiver,
                                           struct insn_stacks **out, struct insn_error *error);

/* The insn_steps_fn of a stream; stacks is its context.  */
INSN_API enum insn_status insn_stacks_take(void *stacks, const struct insn_step *steps,
                                           size_t count);

/* Tell everything that is still held back: charges, and spans that are cut.  Afterwards the stack
 * is empty, and more may be taken.  */
INSN_API enum insn_status insn_stacks_finish(struct insn_stacks *stacks);

/* The first failure of insn_stacks_take(): what a receiver returned, or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_stacks_status(const struct insn_stacks *stacks);
INSN_API void insn_stacks_close(struct insn_stacks *stacks); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif /* INSN_H */
