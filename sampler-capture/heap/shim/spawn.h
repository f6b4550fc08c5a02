/* spawn.h - in which folder posix_spawn(3) starts a program.
 *
 * Its file actions may change the folder, and glibc has no function that tells.  So the layout that
 * glibc gives them is learned from actions of our own.  */
#ifndef SHIM_SPAWN_H
#define SHIM_SPAWN_H

#include <spawn.h>
#include <stdbool.h>

/* Allocates, so this is done once, at the start.  */
void spawn_learn(void);

/* The folder: AT_FDCWD if none of the actions changes it, else a descriptor that the caller closes.
 * False if it cannot be known: the actions open it, or are none that were learned.  */
bool spawn_find_folder(const posix_spawn_file_actions_t *actions, int *folder_fd);

#endif /* SHIM_SPAWN_H */
