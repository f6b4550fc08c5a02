/* Loaded and unloaded by testdata/trace/odd.c.  */
#include <fxt/trace.h>

void plugin_work(unsigned seq);

void plugin_work(unsigned seq)
{
    TRACE_DURATION("plugin", "work", "seq", TA_UINT32(seq));
}
