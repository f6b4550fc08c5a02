/* sanitizer.h - whether a test was built with AddressSanitizer, which takes its own time and
 * memory.  */
#ifndef SUPPORT_SANITIZER_H
#define SUPPORT_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define HAS_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#endif
#ifndef HAS_ASAN
#define HAS_ASAN 0
#endif

#endif /* SUPPORT_SANITIZER_H */
