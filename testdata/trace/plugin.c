/* Loaded and unloaded by testdata/trace/odd.c.  */
#include <fxt/trace.h>

void plugin_work(unsigned seq);

void plugin_work(unsigned seq)
{
#ifdef PLUGIN_PROVIDER /* of its own, with its own copy of the library */
    (void)trace_provider_create_with_name("plugin");
#endif
    TRACE_DURATION("plugin", "work", "seq", TA_UINT32(seq));
}
