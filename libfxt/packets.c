/* packets.c - what Perfetto's packets in blobs are of (docs/formats/fxt.md section 2.7).
 *
 * The payloads of all such blobs, one after another, are one protobuf message of packets: field 1,
 * again and again.  A packet may begin in one blob and end in another, so this goes byte by byte
 * where it has to.  */
#include <stddef.h>

#include "libfxt/fxt_internal.h"

/* Fields of a packet that hold what it is of; all others say something about it.  */
static const char *const names[FXT_PACKET_KINDS] = {
    [1] = "ftrace_events",
    [2] = "process_tree",
    [4] = "inode_file_map",
    [5] = "chrome_events",
    [6] = "clock_snapshot",
    [7] = "sys_stats",
    [9] = "process_stats",
    [11] = "track_event",
    [33] = "trace_config",
    [34] = "ftrace_stats",
    [35] = "trace_stats",
    [36] = "synchronization_marker",
    [37] = "profile_packet",
    [38] = "battery",
    [39] = "android_log",
    [40] = "power_rails",
    [43] = "process_descriptor",
    [44] = "thread_descriptor",
    [45] = "system_info",
    [46] = "trigger",
    [47] = "packages_list",
    [49] = "perfetto_metatrace",
    [50] = "compressed_packets",
    [51] = "chrome_metadata",
    [52] = "gpu_counter_event",
    [53] = "gpu_render_stage_event",
    [54] = "streaming_profile_packet",
    [57] = "graphics_frame_event",
    [60] = "track_descriptor",
    [61] = "module_symbols",
    [62] = "vulkan_memory_event",
    [63] = "gpu_log",
    [64] = "deobfuscation_mapping",
    [65] = "vulkan_api_event",
    [66] = "perf_sample",
    [67] = "cpu_info",
    [68] = "smaps_packet",
    [69] = "service_event",
    [71] = "gpu_mem_total_event",
    [73] = "memory_tracker_snapshot",
    [78] = "ui_state",
    [82] = "translation_table",
    [84] = "statsd_atom",
    [86] = "android_system_property",
    [89] = "trace_uuid",
    [91] = "entity_state_residency",
    [95] = "etw_events",
    [107] = "remote_clock_sync",
    [115] = "kernel_wakelock_data",
    [117] = "generic_kernel_task_state_event",
    [118] = "generic_kernel_cpu_freq_event",
    [119] = "cpu_per_uid_data",
    [120] = "generic_kernel_task_rename_event",
    [122] = "generic_kernel_process_tree",
    [133] = "zstd_compressed_packets",
    [135] = "stack_sample",
};

enum state { AT_TAG = 0, AT_VALUE, AT_LENGTH };

/* Of wire types, those that Perfetto uses.  */
enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static void take_tag(struct fxt_packets *packets, uint64_t tag)
{
    packets->field = tag >> 3;
    packets->state = AT_TAG;
    if (packets->in_packet && packets->kind == 0 && packets->field < FXT_PACKET_KINDS &&
        names[packets->field])
        packets->kind = (unsigned)packets->field;
    switch (tag & 7) {
    case WIRE_VARINT:
        packets->state = AT_VALUE;
        break;
    case WIRE_FIXED64:
        packets->skip = 8;
        break;
    case WIRE_BYTES:
        packets->state = AT_LENGTH;
        break;
    case WIRE_FIXED32:
        packets->skip = 4;
        break;
    default:
        packets->damaged = true;
        break;
    }
    packets->damaged |= packets->field == 0;
}

static void end_packet(struct fxt_packets *packets)
{
    packets->damaged |= packets->state != AT_TAG || packets->shift != 0 || packets->skip != 0;
    if (packets->damaged)
        return;
    packets->in_packet = false;
    packets->count++;
    packets->kinds[packets->kind]++;
}

static void take_length(struct fxt_packets *packets, uint64_t length)
{
    packets->state = AT_TAG;
    if (packets->in_packet || packets->field != 1) {
        packets->skip = length;
        return;
    }
    packets->in_packet = true;
    packets->left = length;
    packets->kind = 0;
    if (length == 0)
        end_packet(packets);
}

static void take_number(struct fxt_packets *packets, uint64_t number)
{
    switch (packets->state) {
    case AT_TAG:
        take_tag(packets, number);
        break;
    case AT_LENGTH:
        take_length(packets, number);
        break;
    default:
        packets->state = AT_TAG;
        break;
    }
}

static void take_byte(struct fxt_packets *packets, uint8_t byte)
{
    uint64_t number;

    if (packets->shift > 63) {
        packets->damaged = true;
        return;
    }
    packets->number |= (uint64_t)(byte & 127) << packets->shift;
    packets->shift += 7;
    if (byte & 128)
        return;
    number = packets->number;
    packets->number = 0;
    packets->shift = 0;
    take_number(packets, number);
}

/* How many bytes can be passed by at once; 0: none.  */
static uint64_t pass(struct fxt_packets *packets, uint64_t length)
{
    uint64_t size = packets->skip < length ? packets->skip : length;

    if (packets->in_packet && packets->skip > packets->left)
        packets->damaged = true;
    packets->skip -= size;
    return size;
}

void fxt_packets_add(struct fxt_packets *packets, struct fxt_bytes payload)
{
    uint64_t at = 0;

    while (at < payload.length && !packets->damaged) {
        bool inside = packets->in_packet;
        uint64_t size = pass(packets, payload.length - at);

        if (size == 0 && !packets->damaged) {
            size = 1;
            take_byte(packets, payload.bytes[at]);
        }
        at += size;
        if (!inside || packets->damaged)
            continue;
        packets->left -= size;
        if (packets->left == 0)
            end_packet(packets);
    }
}

const char *fxt_packet_kind_name(unsigned kind)
{
    return kind < FXT_PACKET_KINDS && names[kind] ? names[kind] : "other";
}
