/* insn.h - decode instruction traces: packets of Intel Processor Trace and the executed code become
 * blocks of instructions, and these become calls, returns and stacks with exact times.
 *
 * This header documents libinsn.  It has five parts:
 *
 *   opcodes   classification of instructions that affect a trace
 *   encoder   the packets that a processor would write for single-stepped instructions
 *   splitter  packets of a processor to packets of the threads that ran on it
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
 * If take_steps is insn_stacks_take, with a struct insn_stacks as its context, the receiver of the
 * stacks gets spans of functions, charges to stacks, and marks.
 *
 * Packets are untrusted input.  If packets cannot be decoded, they become a gap with its reason,
 * size and time, and decoding continues at the next PSB packet (where a decoder can synchronize).
 * Memory depends on the amount of code, not on the length of the trace.
 *
 * Ticks are those of the time stamp counter (TSC).  Nothing here prints or exits.  A handle must be
 * used by one thread at a time.  */
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
    INSN_IO = 2,        /* a system call failed; error->system_errno has the reason */
    INSN_INVALID = 3,   /* an argument violates the contract */
    INSN_LIMIT = 4,     /* more code than INSN_MAX_CODE_BYTES, or more sections than fit */
    INSN_STOPPED = 5,   /* a callback asked to stop */
};

/* A description of a failure.  The caller owns it; a parameter of this type may be NULL.  It is
 * written on every status except INSN_OK.  */
struct insn_error {
    enum insn_status status;
    int system_errno;
    char message[160]; /* a phrase: no newline, no final dot */
};

/* Name and version of the decoder: "libipt 2.0".  Static storage.  */
INSN_API const char *insn_decoder_name(void);

/* ---- Opcodes ---- */

/* The kinds of instructions that matter to a trace.  Values are part of the interface.  */
enum insn_class {
    INSN_CLASS_OTHER = 0,         /* continues with the next instruction */
    INSN_CLASS_CONDITIONAL = 1,   /* jcc, loop, jrcxz: one TNT bit */
    INSN_CLASS_JUMP = 2,          /* direct: no packet */
    INSN_CLASS_JUMP_INDIRECT = 3, /* TIP */
    INSN_CLASS_CALL = 4,          /* direct: no packet */
    INSN_CLASS_CALL_INDIRECT = 5, /* TIP */
    INSN_CLASS_RETURN = 6,        /* TIP, or a TNT bit if it returns to its call */
    INSN_CLASS_FAR = 7,           /* syscall, sysret, int, iret, far calls and returns */
};

#define INSN_MAX_LENGTH 15 /* bytes of one instruction */

struct insn_opcode {
    enum insn_class branch;
    uint8_t length;  /* bytes; 0 for INSN_CLASS_OTHER, whose length is not decoded */
    bool repeats;    /* a string instruction with a repeat prefix: single-stepping stops in it */
    bool calls_next; /* a direct call to the next instruction, to read the program counter */
};

/* Classify the 64-bit instruction at bytes, of which size can be read.  A truncated instruction is
 * INSN_CLASS_OTHER.  */
INSN_API void insn_classify(const uint8_t *bytes, size_t size, struct insn_opcode *out);

/* ---- Encoder ---- */

/* The packets that carry time between PSB packets.  TSC packets are written with each PSB and
 * whenever tracing is enabled.  */
enum insn_timing {
    INSN_TIMING_TSC = 0, /* no others: times in between are interpolated */
    INSN_TIMING_MTC = 1, /* a packet per period of the crystal clock */
    INSN_TIMING_CYC = 2, /* also cycles before each branch packet */
};

/* IA32_RTIT_CTL.ADDRn_CFG: the use of a range of addresses.  */
enum insn_filter_mode {
    INSN_FILTER_OFF = 0,
    INSN_FILTER_TRACE = 1, /* only code in such ranges is traced */
    INSN_FILTER_STOP = 2,  /* tracing stops for good when code in the range runs */
};

#define INSN_FILTERS 4

struct insn_filter {
    uint64_t start, end; /* both inclusive, as in the registers */
    uint32_t mode;       /* enum insn_filter_mode */
};

/* The configuration of a trace, which a decoder needs.  If all members are 0, the trace has no MTC
 * and CYC packets, and the processor is unknown.  */
struct insn_config {
    uint16_t family; /* of the processor (Intel); 0: unknown, no errata are applied */
    uint8_t model;
    uint8_t stepping;
    uint8_t mtc_freq;        /* IA32_RTIT_CTL.MTCFreq */
    uint8_t nom_freq;        /* maximum non-turbo ratio; 0 unknown */
    uint32_t cpuid_0x15_eax; /* ticks of the TSC = crystal ticks * ebx / eax */
    uint32_t cpuid_0x15_ebx;
    /* Processors with erratum SKL014 omit addresses that only the filters tell.  */
    struct insn_filter filters[INSN_FILTERS];
};

/* Fill in the configuration of the simulated processor: 1 cycle is 1 tick, 64 ticks are one tick of
 * its crystal.  */
INSN_API void insn_encoder_config(struct insn_config *out);

struct insn_encoder_options {
    size_t size; /* sizeof(struct insn_encoder_options) */
    enum insn_timing timing;
    bool no_return_compression; /* IA32_RTIT_CTL.DisRETC */
    uint32_t psb_bytes;         /* bytes between PSB packets, at least 256; 0: 4096 */
};

/* Take the packets up to the next PSB packet.  Except for the first call, they begin with a PSB
 * packet.  Returns 0, or an errno value that ends the encoding.  */
typedef int (*insn_write_fn)(void *context, const uint8_t *bytes, size_t size);

struct insn_encoder;

/* Open an encoder for one logical processor, or for one thread.  insn_encoder_status() returns its
 * first failure.  options may be NULL.  */
INSN_API enum insn_status insn_encoder_open(const struct insn_encoder_options *options,
                                            insn_write_fn write, void *context,
                                            struct insn_encoder **out, struct insn_error *error);

/* Tracing begins or resumes at ip: user code runs.  Ticks must not decrease from call to call.  */
INSN_API void insn_encoder_enable(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks);

/* The instruction at from was executed, and the next one is at to.  Far transfers end tracing, and
 * their target is not used.  */
INSN_API void insn_encoder_step(struct insn_encoder *encoder, uint64_t from,
                                const struct insn_opcode *opcode, uint64_t to, uint64_t ticks);

/* Execution continued at to without executing the instruction at from: a signal handler.  */
INSN_API void insn_encoder_branch(struct insn_encoder *encoder, uint64_t from, uint64_t to,
                                  uint64_t ticks);

/* An instruction was executed, and led out of the traced addresses, to to: tracing ends (TIP.PGD
 * with the address).  */
INSN_API void insn_encoder_leave(struct insn_encoder *encoder, const struct insn_opcode *opcode,
                                 uint64_t to, uint64_t ticks);

/* Tracing ends before the instruction at ip: an interrupt, a context switch.  If it has already
 * ended, the call has no effect.  */
INSN_API void insn_encoder_disable(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks);

/* A ptwrite instruction, the next one that is executed, writes value.  */
INSN_API void insn_encoder_ptwrite(struct insn_encoder *encoder, uint64_t value, uint64_t ticks);

/* Lose packets from now on until insn_encoder_resume() is called, with tracing enabled at ip, or
 * disabled.  */
INSN_API void insn_encoder_lose(struct insn_encoder *encoder, uint64_t ticks);
INSN_API void insn_encoder_resume(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks);

/* Write a PSB packet, so the following packets can be decoded without the earlier ones.  ip is the
 * address of the next instruction, if tracing is enabled.  */
INSN_API void insn_encoder_sync(struct insn_encoder *encoder, uint64_t ip, uint64_t ticks);

/* Write buffered packets.  */
INSN_API void insn_encoder_flush(struct insn_encoder *encoder);

/* Returns INSN_OK, INSN_NO_MEMORY or INSN_IO.  Packets before the failure are complete.  */
INSN_API enum insn_status insn_encoder_status(const struct insn_encoder *encoder);
INSN_API uint64_t insn_encoder_bytes(const struct insn_encoder *encoder);
INSN_API void insn_encoder_close(struct insn_encoder *encoder); /* accepts NULL; does not flush */

/* ---- Splitter: packets of a processor to packets of its threads ---- */

#define INSN_NO_THREAD UINT64_MAX /* packets that are dropped */

/* Take packets of a thread, up to about ticks, which are borrowed for the call.  All parts of a
 * thread form one stream.  Returns INSN_OK, or INSN_STOPPED.  */
typedef enum insn_status (*insn_part_fn)(void *context, uint64_t thread, uint64_t ticks,
                                         const uint8_t *bytes, size_t size);

/* Assigns the packets of one logical processor to the threads that ran on it, by the times of
 * context switches.  Feed the packets recorded before a time, then pass the switches before it, in
 * order of time.
 *
 * If only user mode was traced, tracing is off at each switch, and the packets are divided there,
 * even if the times of packets are coarse.  Otherwise, they are divided at the first packet with a
 * later time.  A part that begins between two PSB packets is given one.  Return compression must be
 * off if the processor was traced across switches; a compressed return to a call of an earlier part
 * becomes a gap otherwise.  */
struct insn_splitter;

/* Before the first switch, packets are dropped.  config is copied.  Returns INSN_OK or
 * INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_splitter_open(const struct insn_config *config, insn_part_fn take,
                                             void *context, struct insn_splitter **out,
                                             struct insn_error *error);

/* Also divide the packets where they say that the processor has another address space (PIP): find
 * returns whose it is, at about ticks, and gets the context of the splitter.  Where code is traced
 * meanwhile, the packets from there up to the next PSB packet, or until tracing is enabled again,
 * cannot be decoded.  */
typedef uint64_t (*insn_space_fn)(void *context, uint64_t cr3, uint64_t ticks);
INSN_API void insn_splitter_follow(struct insn_splitter *splitter, insn_space_fn find);

/* Copy packets; nothing is delivered.  Returns INSN_OK or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_splitter_feed(struct insn_splitter *splitter, const void *bytes,
                                             size_t size, struct insn_error *error);

/* From ticks on, the processor runs thread, any number of the caller's or INSN_NO_THREAD.  Delivers
 * the earlier packets.  If thread is the current one, this only delivers, for example before its
 * code changes.  */
INSN_API enum insn_status insn_splitter_switch(struct insn_splitter *splitter, uint64_t ticks,
                                               uint64_t thread, struct insn_error *error);

/* All switches before ticks were passed: deliver packets up to there if they are many.  *reached,
 * which may be NULL, says whether a packet that was fed has that time or a later one; if not, the
 * next ones may be of an earlier time, too.  */
INSN_API enum insn_status insn_splitter_advance(struct insn_splitter *splitter, uint64_t ticks,
                                                bool *reached, struct insn_error *error);

/* Deliver the rest.  */
INSN_API enum insn_status insn_splitter_finish(struct insn_splitter *splitter,
                                               struct insn_error *error);
INSN_API void insn_splitter_close(struct insn_splitter *splitter); /* accepts NULL */

/* Return the offset of the first PSB packet in bytes, where decoding can begin, or size.  */
INSN_API size_t insn_first_psb(const void *bytes, size_t size);

/* ---- Code and address spaces ---- */

/* Sections of code, each stored once and shared by address spaces.  */
struct insn_code;

#define INSN_MAX_CODE_BYTES (UINT64_C(4) << 30) /* all sections together */

INSN_API enum insn_status insn_code_open(struct insn_code **out, struct insn_error *error);

/* Copy size bytes, at least one; *section is set to their number, from 1.  Returns INSN_OK,
 * INSN_LIMIT, INSN_IO, INSN_INVALID or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_code_add(struct insn_code *code, const void *bytes, size_t size,
                                        uint32_t *section, struct insn_error *error);
INSN_API void insn_code_close(struct insn_code *code); /* after its spaces; accepts NULL */

/* The code mappings of one process.  */
struct insn_space;

INSN_API enum insn_status insn_space_open(struct insn_code *code, struct insn_space **out,
                                          struct insn_error *error);

/* Map size bytes of a section, starting at offset, at address.  Earlier mappings there are
 * replaced. Streams of the space use the mapping for all packets not yet decoded, so flush them
 * first.  Returns INSN_OK, INSN_INVALID (not inside the section, or around 2^64) or
 * INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_space_map(struct insn_space *space, uint64_t address,
                                         uint32_t section, uint64_t offset, uint64_t size,
                                         struct insn_error *error);

/* Copy up to size bytes at address.  Returns the number of bytes copied.  */
INSN_API size_t insn_space_read(const struct insn_space *space, uint64_t address, void *buffer,
                                size_t size);
INSN_API void insn_space_close(struct insn_space *space); /* after its streams; accepts NULL */

/* ---- Stream: packets to steps ---- */

enum insn_step_kind {
    /* count consecutive instructions from ip to last_ip.  Instructions up to a branch may be
     * delivered in several blocks; all but the last have INSN_CLASS_OTHER.  */
    INSN_STEP_BLOCK = 0,
    INSN_STEP_ENABLED = 1,     /* tracing begins or resumes at ip */
    INSN_STEP_DISABLED = 2,    /* a far transfer, or leaving a filtered range, ended tracing */
    INSN_STEP_STOPPED = 3,     /* another event ended tracing before the instruction at ip */
    INSN_STEP_BRANCH = 4,      /* an interrupt or a signal: from ip, not executed, to last_ip */
    INSN_STEP_OVERFLOW = 5,    /* the processor lost packets; tracing resumes at ip, 0: disabled */
    INSN_STEP_SPECULATIVE = 6, /* a transaction begins */
    INSN_STEP_COMMITTED = 7,   /* the transaction was committed */
    INSN_STEP_ABORTED = 8,     /* the transaction was aborted */
    INSN_STEP_PTWRITE = 9,     /* last_ip is the value written */
    INSN_STEP_GAP = 10, /* bytes that could not be decoded: reason, offset ip, size last_ip */
};

/* Reasons of gaps.  Values are part of the interface.  */
enum insn_gap_reason {
    INSN_GAP_NONE = 0,
    INSN_GAP_NO_SYNC = 1,      /* no PSB packet before them: the start of a circular buffer */
    INSN_GAP_BAD_PACKET = 2,   /* not a valid packet */
    INSN_GAP_NO_CODE = 3,      /* the code at an address is unknown */
    INSN_GAP_MISMATCH = 4,     /* packets and code contradict each other */
    INSN_GAP_ENDLESS = 5,      /* an endless loop that needs no packet */
    INSN_GAP_DISCONTINUED = 6, /* the next PSB packet continues elsewhere; no bytes */
    INSN_GAP_TOO_LONG = 7,     /* too many branches without a PSB packet: memory is bounded */
    INSN_GAP_REASONS = 8,
};

/* "no_sync", ...; "unknown" if out of range.  Static storage.  */
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
    /* Time of the last packet with a time before this step.  It only decreases if packets are
     * damaged.  */
    uint64_t ticks;
};

/* Take count steps in order, which are borrowed for the call.  Returns INSN_OK, or
 * INSN_STOPPED.  */
typedef enum insn_status (*insn_steps_fn)(void *context, const struct insn_step *steps,
                                          size_t count);

struct insn_stream_options {
    size_t size; /* sizeof(struct insn_stream_options) */
    struct insn_config config;
    unsigned threads;     /* decoding threads; 0: one per processor, at most 8 */
    uint32_t piece_bytes; /* bytes of packets per task of a thread; 0: 2 KiB */
    /* Decode every block each time it is executed, with libipt's block decoder alone.  The steps
     * are the same, except that blocks may be divided elsewhere; it takes twice the time.  */
    bool is_plain;
};

struct insn_stream;

/* Counts so far.  Bytes of gaps, of decoded packets and of buffered packets add up to the bytes
 * fed: each byte is in one of them.  */
struct insn_totals {
    uint64_t bytes;         /* fed */
    uint64_t decoded_bytes; /* of packets that were decoded */
    uint64_t instructions;  /* delivered */
    uint64_t blocks;
    uint64_t overflows;
    uint64_t gaps[INSN_GAP_REASONS];
    uint64_t gap_bytes[INSN_GAP_REASONS];
};

/* Open a stream for the packets of one logical processor or thread.  space is borrowed and must
 * outlive the stream.  options may be NULL.  Returns INSN_OK, INSN_INVALID or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_stream_open(const struct insn_stream_options *options,
                                           struct insn_space *space, insn_steps_fn take,
                                           void *context, struct insn_stream **out,
                                           struct insn_error *error);

/* Take the next size bytes, which may be split at any point.  When enough bytes are available,
 * steps are delivered from this thread.  */
INSN_API enum insn_status insn_stream_feed(struct insn_stream *stream, const void *bytes,
                                           size_t size, struct insn_error *error);

/* Decode the buffered packets up to the last PSB packet.  Call this before the address space
 * changes.  */
INSN_API enum insn_status insn_stream_flush(struct insn_stream *stream, struct insn_error *error);

/* Packets are missing here.  Decodes those before and delivers a gap of INSN_GAP_DISCONTINUED; of
 * the following ones, those before the first PSB packet become a gap of INSN_GAP_NO_SYNC.  If there
 * are none before, this has no effect.  */
INSN_API enum insn_status insn_stream_break(struct insn_stream *stream, struct insn_error *error);

/* Decode the rest.  */
INSN_API enum insn_status insn_stream_finish(struct insn_stream *stream, struct insn_error *error);

INSN_API const struct insn_totals *insn_stream_totals(const struct insn_stream *stream);
INSN_API void insn_stream_close(struct insn_stream *stream); /* accepts NULL */

/* ---- Stacks: steps to calls and returns ---- */

/* The function of an address.  Jumps inside one function are not calls.  */
struct insn_function {
    uint64_t start, end; /* the result holds for addresses [start, end) */
    uint64_t id;         /* any number that is the same for all parts of a function; 0: unknown */
};

/* The event that put a frame on the stack.  Values are part of the interface.  */
enum insn_entry {
    INSN_ENTRY_CALL = 0,
    INSN_ENTRY_JUMP = 1,     /* a jump out of another function: a tail call, a PLT stub */
    INSN_ENTRY_SIGNAL = 2,   /* a signal handler, or another entry without a branch instruction */
    INSN_ENTRY_OPEN = 3,     /* already on the stack when it was first known */
    INSN_ENTRY_RESUMED = 4,  /* a coroutine that resumes, replacing another stack */
    INSN_ENTRY_UNTRACED = 5, /* not a function: a system call, a page fault, another thread */
};

/* A period in which a function was on the stack, delivered when it leaves the stack: callers follow
 * their callees.  */
struct insn_span {
    uint64_t address; /* entry address, or first one seen; untraced: of the last instruction */
    uint64_t site;    /* of the call or jump; 0: unknown */
    uint64_t begin_ticks, end_ticks;
    uint64_t order; /* if spans began at the same time, the smallest began first.  Below 2^44 */
    uint8_t entry;  /* enum insn_entry */
    bool cut;       /* its end is unknown: packets were lost, or the trace ends here */
};

/* Values of one stack.  */
struct insn_charge {
    uint64_t instructions;
    uint64_t ticks;
    uint64_t calls; /* number of entries into its last function */
};

/* An instant: a PTWRITE, an overflow or a gap.  After an overflow or a gap, the stack is
 * unknown.  */
struct insn_mark {
    uint8_t kind;   /* INSN_STEP_PTWRITE, INSN_STEP_OVERFLOW or INSN_STEP_GAP */
    uint8_t reason; /* gap: enum insn_gap_reason */
    uint64_t ticks;
    uint64_t ip;    /* PTWRITE: of the instruction, 0 unknown; gap: offset of its first byte */
    uint64_t value; /* PTWRITE: the value written; gap: its size in bytes */
};

/* Callbacks.  Members except function may be NULL.  If one returns a status other than INSN_OK,
 * processing ends with it.  The receiver assigns the numbers of stacks; 0 is the empty stack.  */
struct insn_receiver {
    void *context;
    void (*function)(void *context, uint64_t address, struct insn_function *out);
    /* Return in *out the number of the stack with address on top of callers.  Addresses of callers
     * are those of their call instructions; the top one is the first instruction of a block, or the
     * entry of a function.  */
    enum insn_status (*stack)(void *context, uint32_t callers, uint64_t address, uint32_t *out);
    enum insn_status (*charge)(void *context, uint32_t stack, const struct insn_charge *charge);
    enum insn_status (*span)(void *context, const struct insn_span *span);
    enum insn_status (*mark)(void *context, const struct insn_mark *mark);
};

#define INSN_MAX_DEPTH (UINT32_C(1) << 20) /* deeper calls are not recorded */

/* The stack of one logical processor or thread.
 *
 * A return goes to the nearest caller with that return address, so longjmp() and exceptions end all
 * frames above it.  If no caller has that return address, the return resumes a stack that was left
 * earlier (a coroutine), is a jump (a retpoline), or leaves the first function that was seen; the
 * caller of that function is then on the stack from the beginning.
 *
 * Times are exact at packets with a time.  Between two such packets, instructions take equally
 * long.  A period without tracing lasts from the last packet before it to the first packet after
 * it.  */
struct insn_stacks;

/* Returns INSN_OK, INSN_INVALID (no function) or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_stacks_open(const struct insn_receiver *receiver,
                                           struct insn_stacks **out, struct insn_error *error);

/* The insn_steps_fn of a stream; stacks is its context.  */
INSN_API enum insn_status insn_stacks_take(void *stacks, const struct insn_step *steps,
                                           size_t count);

/* Deliver the remaining charges, and the open spans with cut set.  Afterwards the stack is empty,
 * and more steps may be taken.  */
INSN_API enum insn_status insn_stacks_finish(struct insn_stacks *stacks);

/* Return the first failure of insn_stacks_take(): the status of a callback, or INSN_NO_MEMORY.  */
INSN_API enum insn_status insn_stacks_status(const struct insn_stacks *stacks);
INSN_API void insn_stacks_close(struct insn_stacks *stacks); /* accepts NULL */

#ifdef __cplusplus
}
#endif

#endif /* INSN_H */
