/* fail.h - how every library fills its struct of an error.  */
#ifndef BASE_FAIL_H
#define BASE_FAIL_H

#include <stdarg.h>
#include <stdio.h>

/* The body of a variadic function: write the text of format, and the arguments after it, into the
 * array message.  */
#define BASE_FORMAT(message, format)                                         \
    do {                                                                     \
        va_list arguments_;                                                  \
                                                                             \
        va_start(arguments_, format);                                        \
        if (vsnprintf((message), sizeof(message), (format), arguments_) < 0) \
            (message)[0] = '\0';                                             \
        va_end(arguments_);                                                  \
    } while (0)

/* The body of a variadic function fail(error, status, format, ...): fill *error, which may be NULL,
 * a struct of status, system_errno and message.  */
#define BASE_FAIL(error, failure, format)          \
    do {                                           \
        if (error) {                               \
            (error)->status = (failure);           \
            (error)->system_errno = 0;             \
            BASE_FORMAT((error)->message, format); \
        }                                          \
    } while (0)

#endif /* BASE_FAIL_H */
