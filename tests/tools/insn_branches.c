/* insn_branches - prints the calls that libinsn sees in a list of branches on standard input.
 *
 *   function START END ID                 hexadecimal; addresses [START, END)
 *   block TICKS FIRST LAST CLASS LENGTH   CLASS: enum insn_class of LAST, which has LENGTH bytes
 *   enabled TICKS IP
 *   stopped TICKS IP
 *   disabled TICKS
 *   overflow TICKS
 *
 * Functions come first.  Prints "span BEGIN END ORDER ENTRY CUT ADDRESS" for each call when it ends
 * (struct insn_span), and "mark TICKS" for each overflow.  */
#include <fxt/insn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FUNCTIONS 65536

static struct insn_function functions[MAX_FUNCTIONS];
static size_t function_count;

static void find_function(void *context, uint64_t address, struct insn_function *out)
{
    (void)context;
    *out = (struct insn_function){ .start = address, .end = address + 1 };
    for (size_t i = 0; i < function_count; i++)
        if (address >= functions[i].start && address < functions[i].end)
            *out = functions[i];
}

static enum insn_status print_span(void *context, const struct insn_span *span)
{
    (void)context;
    printf("span %" PRIu64 " %" PRIu64 " %" PRIu64 " %u %d %" PRIx64 "\n", span->begin_ticks,
           span->end_ticks, span->order, span->entry, span->cut, span->address);
    return INSN_OK;
}

static enum insn_status print_mark(void *context, const struct insn_mark *mark)
{
    (void)context;
    printf("mark %" PRIu64 "\n", mark->ticks);
    return INSN_OK;
}

/* Up to six hexadecimal numbers after the first word.  */
static size_t read_numbers(char *line, uint64_t *numbers)
{
    size_t count = 0;
    char *word, *rest = NULL;

    (void)strtok_r(line, " \n", &rest);
    while (count < 6 && (word = strtok_r(NULL, " \n", &rest)))
        numbers[count++] = strtoull(word, NULL, 16);
    return count;
}

static void take_step(struct insn_stacks *stacks, const char *word, const uint64_t *numbers)
{
    struct insn_step step = { .has_ticks = true, .ticks = numbers[0], .ip = numbers[1] };

    if (strcmp(word, "block") == 0) {
        step.kind = INSN_STEP_BLOCK;
        step.count = 1;
        step.last_ip = numbers[2];
        step.branch = (uint8_t)numbers[3];
        step.length = (uint8_t)numbers[4];
        step.calls_next = false;
    } else if (strcmp(word, "enabled") == 0) {
        step.kind = INSN_STEP_ENABLED;
    } else if (strcmp(word, "stopped") == 0) {
        step.kind = INSN_STEP_STOPPED;
    } else if (strcmp(word, "disabled") == 0) {
        step.kind = INSN_STEP_DISABLED;
    } else {
        step.kind = INSN_STEP_OVERFLOW;
    }
    if (insn_stacks_take(stacks, &step, 1) != INSN_OK)
        exit(3);
}

int main(void)
{
    const struct insn_receiver receiver = { .function = find_function,
                                            .span = print_span,
                                            .mark = print_mark };
    struct insn_stacks *stacks;
    char line[256], word[16];

    if (insn_stacks_open(&receiver, &stacks, NULL) != INSN_OK)
        return 3;
    while (fgets(line, sizeof line, stdin)) {
        uint64_t numbers[6] = { 0 };

        if (sscanf(line, "%15s", word) != 1)
            continue;
        (void)read_numbers(line, numbers);
        if (strcmp(word, "function") != 0)
            take_step(stacks, word, numbers);
        else if (function_count < MAX_FUNCTIONS)
            functions[function_count++] =
                (struct insn_function){ .start = numbers[0], .end = numbers[1], .id = numbers[2] };
    }
    if (insn_stacks_finish(stacks) != INSN_OK)
        return 3;
    insn_stacks_close(stacks);
    return 0;
}
