/* hardware.h - what a controller needs of a processor that writes packets.
 *
 * Two implementations: pt_hardware.h is the PMU "intel_pt" of perf_event_open(2), sim_hardware.h
 * the processor made of ptrace(2).  */
#ifndef INSN_HARDWARE_H
#define INSN_HARDWARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- Answers ---- */

/* The errors of fuchsia.hardware.cpu.insntrace; insn_answer_entry() has their numbers.  */
enum insn_answer {
    INSN_ANSWER_OK = 0,
    INSN_ANSWER_NOT_SUPPORTED = 1,
    INSN_ANSWER_NO_RESOURCES = 2, /* no free descriptor */
    INSN_ANSWER_NO_MEMORY = 3,    /* also: no memory that may be locked */
    INSN_ANSWER_INVALID_ARGS = 4,
    INSN_ANSWER_BAD_STATE = 5,
    INSN_ANSWER_ACCESS_DENIED = 6,
    INSN_ANSWER_ALREADY_BOUND = 7, /* another controller has the hardware */
    INSN_ANSWER_IO = 8,            /* the kernel refused for another reason */
    INSN_ANSWERS = 9,
};

struct insn_answer_entry {
    const char *name; /* "ZX_ERR_BAD_STATE" */
    int zx_status;    /* -20 */
    int linux_errno;
};

/* A row of the table; valid answers only.  */
const struct insn_answer_entry *insn_answer_entry(enum insn_answer answer);

/* ---- Configuration ---- */

/* IA32_RTIT_CTL.  */
#define INSN_CTL_TRACE_ENABLED    (UINT64_C(1) << 0) /* set by the hardware, as is TOPA */
#define INSN_CTL_CYC              (UINT64_C(1) << 1)
#define INSN_CTL_OS               (UINT64_C(1) << 2)
#define INSN_CTL_USER             (UINT64_C(1) << 3)
#define INSN_CTL_CR3_FILTER       (UINT64_C(1) << 7)
#define INSN_CTL_TOPA             (UINT64_C(1) << 8)
#define INSN_CTL_MTC              (UINT64_C(1) << 9)
#define INSN_CTL_TSC              (UINT64_C(1) << 10)
#define INSN_CTL_NO_RETC          (UINT64_C(1) << 11)
#define INSN_CTL_PTW              (UINT64_C(1) << 12)
#define INSN_CTL_BRANCH           (UINT64_C(1) << 13)
#define INSN_CTL_MTC_FREQ_SHIFT   14
#define INSN_CTL_MTC_FREQ         (UINT64_C(0xf) << INSN_CTL_MTC_FREQ_SHIFT)
#define INSN_CTL_CYC_THRESH_SHIFT 19
#define INSN_CTL_CYC_THRESH       (UINT64_C(0xf) << INSN_CTL_CYC_THRESH_SHIFT)
#define INSN_CTL_PSB_FREQ_SHIFT   24
#define INSN_CTL_PSB_FREQ         (UINT64_C(0xf) << INSN_CTL_PSB_FREQ_SHIFT)

struct insn_buffer_config {
    uint32_t num_chunks;  /* 1..INSN_MAX_CHUNKS */
    uint32_t chunk_order; /* a chunk has 2^chunk_order pages of 4 KiB; 0..INSN_MAX_ORDER */
    bool is_circular;     /* the oldest packets are replaced; else tracing stops at the end */
    uint64_t ctl;
    uint64_t address_space_match; /* of CR3; 0: all */
};

#define INSN_PAGE             4096U
#define INSN_MAX_CHUNKS       4096U
#define INSN_MAX_ORDER        8U
#define INSN_MAX_BUFFER_BYTES (UINT64_C(256) << 20)

/* ---- Hardware ---- */

struct insn_abilities {
    bool has_pt;      /* it writes packets */
    bool has_topa;    /* into more than one piece of memory */
    bool has_threads; /* a buffer can be a thread's */
    bool has_cr3;     /* one address space can be chosen */
    uint32_t cpus;
    uint64_t ctl;         /* bits that may be set */
    uint32_t mtc_periods; /* bit n: INSN_CTL_MTC_FREQ may be n; likewise: */
    uint32_t cyc_thresholds;
    uint32_t psb_periods;
};

/* What a buffer has.  */
struct insn_view {
    const uint8_t *bytes;
    uint64_t size;
    uint64_t head; /* bytes written since it was allocated; the next one is at head % size */
};

/* Descriptors are the controller's, which keeps the rules: functions are called with buffers that
 * exist, and in the right state.  */
struct insn_hardware {
    void *context;
    bool is_bound; /* the controller's: one has it */
    struct insn_abilities abilities;

    enum insn_answer (*allocate)(void *context, uint32_t descriptor,
                                 const struct insn_buffer_config *config);
    void (*release)(void *context, uint32_t descriptor);
    /* Give a buffer to a thread; 0: to none.  */
    enum insn_answer (*assign)(void *context, uint32_t descriptor, pid_t tid);
    enum insn_answer (*start)(void *context);
    enum insn_answer (*stop)(void *context);
    struct insn_view (*view)(void *context, uint32_t descriptor);
    /* Bytes before tail were read: a buffer that is not circular has room again.  */
    void (*consume)(void *context, uint32_t descriptor, uint64_t tail);
};

#endif /* INSN_HARDWARE_H */
