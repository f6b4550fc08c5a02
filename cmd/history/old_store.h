/* old_store.h - what programs print when they read a store of an earlier version.  */
#ifndef CMD_HISTORY_OLD_STORE_H
#define CMD_HISTORY_OLD_STORE_H

#include <fxt/store.h>

/* If an upgraded copy of the store at path is read (store_upgraded_from()), print a note, once for
 * each path.  */
void old_store_note(const struct store *store, const char *path);

/* The option -q: print no such note.  */
void old_store_be_quiet(void);

#endif /* CMD_HISTORY_OLD_STORE_H */
