/* account.h - memory that counts in an account with a limit.
 *
 * A thread that works on input which may be hostile enters an account.  What it then takes with the
 * functions below counts there, and is refused beyond the limit: as if memory were short, but the
 * account says so.  base_make_room(), arenas, indexes, maps, numberings and texts take their memory
 * here, too, so that they count without knowing it.  A thread that entered none takes memory as
 * from malloc(), and anybody may give a block back with free(): it is an ordinary one. */
#ifndef BASE_ACCOUNT_H
#define BASE_ACCOUNT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero is an empty account whose limit is 0.  Several threads may enter it at once.  */
struct base_account {
    _Atomic int64_t bytes; /* that blocks take now; below 0 where more are given back than taken */
    _Atomic int64_t limit; /* bytes may not exceed this; INT64_MAX: no limit */
    atomic_bool exceeded;  /* something was refused; the owner clears it */
};

/* Let the calling thread count in account; NULL: in none.  Returns the one before, which is to be
 * entered again in the end.  */
struct base_account *base_account_enter(struct base_account *account);
struct base_account *base_account_current(void);

/* The limit of the current account, if there is one, grows by so many bytes, or shrinks.  */
void base_account_widen(int64_t bytes);

/* While the calling thread says so, nothing is refused, but all counts.  Returns what was so
 * before.  */
bool base_account_force(bool forced);

/* malloc(), calloc(), realloc() and free(), counted.  */
void *base_malloc(size_t size);
void *base_calloc(size_t count, size_t size);
void *base_realloc(void *block, size_t size);
void base_free(void *block);

/* A block that was taken by other means, such as vasprintf(), counts from now on.  */
void base_account_adopt(void *block);

#endif /* BASE_ACCOUNT_H */
