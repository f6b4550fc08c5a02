/* trace.h - make a program a trace provider: the macros.
 *
 *     #include <fxt/trace.h>
 *
 *     int main(void)
 *     {
 *         trace_provider_create_with_name("demo");
 *         serve();
 *     }
 *
 *     static void serve(void)
 *     {
 *         TRACE_DURATION("demo", "serve", "request", TA_UINT32(number));
 *         TRACE_COUNTER("demo", "queue", 0, "length", TA_INT32(length));
 *     }
 *
 *     cc program.c $(pkg-config --cflags --libs fxt-trace)
 *     sampler-capture trace -o out.fxt -- ./a.out
 *
 * C11 and C++17, GCC and Clang.  The macros and their arguments are those of Fuchsia's
 * <lib/trace/event.h>.  If tracing is off, a macro is one load and one branch, and its arguments
 * are not evaluated.  With NTRACE defined before this header is included, macros compile to
 * nothing, but for those at the end of this header, which are for callers of the functions.
 *
 * Category and name are string literals, or constants with static storage; names of arguments,
 * too.  A category "" is never enabled.  After the fixed arguments come up to 15 pairs "name",
 * value.  In C a value is one of TA_NULL(), TA_BOOL(), TA_INT32(), TA_UINT32(), TA_INT64(),
 * TA_UINT64(), TA_DOUBLE(), TA_STRING(text), TA_CHAR_ARRAY(bytes, length), TA_POINTER(), TA_KOID(),
 * TA_BLOB(bytes, length).  In C++ these, and plain values: nullptr, bool, integers, enumerators,
 * floating point, strings and arrays of char, std::string, std::string_view, pointers.
 *
 * | macro | records |
 * | --- | --- |
 * | TRACE_INSTANT(category, name, scope, args...) | an instant |
 * | TRACE_COUNTER(category, name, id, args...) | values of a counter: 1 to 15 numbers |
 * | TRACE_DURATION(category, name, args...) | from here to the end of the scope, in one record |
 * | TRACE_DURATION_BEGIN, _END(category, name, args...) | the same as two records |
 * | TRACE_ASYNC_BEGIN, _INSTANT, _END(category, name, id, args...) | an operation across threads |
 * | TRACE_FLOW_BEGIN, _STEP, _END(category, name, id, args...) | an arrow between durations |
 * | TRACE_BLOB_EVENT(category, name, bytes, size, args...) | bytes, at a time |
 * | TRACE_BLOB_ATTACHMENT(category, name, bytes, size) | bytes |
 * | TRACE_BLOB(type, name, bytes, size) | at most 32,000 bytes, without a category |
 * | TRACE_KERNEL_OBJECT(fd, args...) | name and type of a file descriptor |
 * | TRACE_ALERT(category, name) | nothing; sends an alert to the manager |
 * | TRACE_VTHREAD_DURATION_BEGIN, _END(category, name, thread name, thread id, time, args...) | |
 * | TRACE_VTHREAD_FLOW_BEGIN, _STEP, _END(category, name, thread name, thread id, flow id, time,
 *   args...) | |
 *
 * TRACE_ENABLED(), TRACE_CATEGORY_ENABLED(category) and TRACE_NONCE() are expressions.
 * TRACE_DURATION is a declaration and needs braces around it.  Its values are evaluated
 * immediately.  Strings are read at the end of the scope and must live until then.  */
#ifndef FXT_TRACE_H
#define FXT_TRACE_H

#include <fxt/trace_engine.h>

#ifdef __cplusplus
#include <string>
#include <string_view>
#include <type_traits>
#endif

/* ---- Values ---- */

#define TRACE_INTERNAL_VALUE(function, parameter, kind, member) \
    static inline trace_arg_value_t function(parameter value)   \
    {                                                           \
        trace_arg_value_t result;                               \
        result.type = kind;                                     \
        result.value.member = value;                            \
        return result;                                          \
    }

TRACE_INTERNAL_VALUE(trace_make_bool_arg_value, bool, TRACE_ARG_BOOL, bool_value)
TRACE_INTERNAL_VALUE(trace_make_int32_arg_value, int32_t, TRACE_ARG_INT32, int32_value)
TRACE_INTERNAL_VALUE(trace_make_uint32_arg_value, uint32_t, TRACE_ARG_UINT32, uint32_value)
TRACE_INTERNAL_VALUE(trace_make_int64_arg_value, int64_t, TRACE_ARG_INT64, int64_value)
TRACE_INTERNAL_VALUE(trace_make_uint64_arg_value, uint64_t, TRACE_ARG_UINT64, uint64_value)
TRACE_INTERNAL_VALUE(trace_make_double_arg_value, double, TRACE_ARG_DOUBLE, double_value)
TRACE_INTERNAL_VALUE(trace_make_koid_arg_value, trace_koid_t, TRACE_ARG_KOID, koid_value)
TRACE_INTERNAL_VALUE(trace_make_string_arg_value, trace_string_ref_t, TRACE_ARG_STRING,
                     string_value_ref)

static inline trace_arg_value_t trace_make_null_arg_value(void)
{
    trace_arg_value_t result;
    result.type = TRACE_ARG_NULL;
    result.value.uint64_value = 0;
    return result;
}

static inline trace_arg_value_t trace_make_pointer_arg_value(const void *value)
{
    trace_arg_value_t result;
    result.type = TRACE_ARG_POINTER;
    result.value.pointer_value = TRACE_INTERNAL_ADDRESS(value);
    return result;
}

static inline trace_arg_value_t trace_make_blob_arg_value(const void *bytes, size_t length)
{
    trace_arg_value_t result;
    result.type = TRACE_ARG_BLOB;
    result.value.blob_value.bytes = bytes;
    result.value.blob_value.length = length;
    return result;
}

#define TA_NULL()        (trace_make_null_arg_value())
#define TA_BOOL(value)   (trace_make_bool_arg_value(value))
#define TA_INT32(value)  (trace_make_int32_arg_value(value))
#define TA_UINT32(value) (trace_make_uint32_arg_value(value))
#define TA_INT64(value)  (trace_make_int64_arg_value(value))
#define TA_UINT64(value) (trace_make_uint64_arg_value(value))
#define TA_DOUBLE(value) (trace_make_double_arg_value(value))
#define TA_STRING(value) (trace_make_string_arg_value(trace_make_inline_c_string_ref(value)))
#define TA_CHAR_ARRAY(bytes, count) \
    (trace_make_string_arg_value(trace_make_inline_string_ref(bytes, count)))
#ifdef __cplusplus
#define TA_POINTER(value) (::trace_internal::pointer(value))
#else
#define TA_POINTER(value) (trace_make_pointer_arg_value((const void *)(value)))
#endif
#define TA_KOID(value)        (trace_make_koid_arg_value(value))
#define TA_BLOB(bytes, count) (trace_make_blob_arg_value(bytes, count))
/* Another name in Fuchsia's headers.  */
#define TA_STRING_LITERAL(value) TA_STRING(value)

/* ---- Counting and splitting arguments ---- */

/* 1 to 40 arguments.  */
#define TRACE_INTERNAL_COUNT(...)                                                                  \
    TRACE_INTERNAL_COUNT_(__VA_ARGS__, 40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, \
                          25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, 7, \
                          6, 5, 4, 3, 2, 1, 0)
#define TRACE_INTERNAL_COUNT_(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15,  \
                              _16, _17, _18, _19, _20, _21, _22, _23, _24, _25, _26, _27, _28,   \
                              _29, _30, _31, _32, _33, _34, _35, _36, _37, _38, _39, _40, count, \
                              ...)                                                               \
    count
#define TRACE_INTERNAL_CAT(a, b)      TRACE_INTERNAL_CAT_(a, b)
#define TRACE_INTERNAL_CAT_(a, b)     a##b
#define TRACE_INTERNAL_FIRST(...)     TRACE_INTERNAL_FIRST_(__VA_ARGS__, 0)
#define TRACE_INTERNAL_FIRST_(a, ...) a

/* Keys and values of the pairs that follow k fixed arguments: TRACE_INTERNAL_KEYS_k_n with n
 * arguments in all.  The keys end with a NULL, and the values are a null where there are no pairs,
 * which makes both lists also then.  */
#define TRACE_INTERNAL_K0(x)             NULL
#define TRACE_INTERNAL_V0(x)             TA_NULL()
#define TRACE_INTERNAL_K2(x, k, v)       k, NULL
#define TRACE_INTERNAL_V2(x, k, v)       TRACE_INTERNAL_ANY(v)
#define TRACE_INTERNAL_K4(x, k, v, ...)  k, TRACE_INTERNAL_K2(x, __VA_ARGS__)
#define TRACE_INTERNAL_V4(x, k, v, ...)  TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V2(x, __VA_ARGS__)
#define TRACE_INTERNAL_K6(x, k, v, ...)  k, TRACE_INTERNAL_K4(x, __VA_ARGS__)
#define TRACE_INTERNAL_V6(x, k, v, ...)  TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V4(x, __VA_ARGS__)
#define TRACE_INTERNAL_K8(x, k, v, ...)  k, TRACE_INTERNAL_K6(x, __VA_ARGS__)
#define TRACE_INTERNAL_V8(x, k, v, ...)  TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V6(x, __VA_ARGS__)
#define TRACE_INTERNAL_K10(x, k, v, ...) k, TRACE_INTERNAL_K8(x, __VA_ARGS__)
#define TRACE_INTERNAL_V10(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V8(x, __VA_ARGS__)
#define TRACE_INTERNAL_K12(x, k, v, ...) k, TRACE_INTERNAL_K10(x, __VA_ARGS__)
#define TRACE_INTERNAL_V12(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V10(x, __VA_ARGS__)
#define TRACE_INTERNAL_K14(x, k, v, ...) k, TRACE_INTERNAL_K12(x, __VA_ARGS__)
#define TRACE_INTERNAL_V14(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V12(x, __VA_ARGS__)
#define TRACE_INTERNAL_K16(x, k, v, ...) k, TRACE_INTERNAL_K14(x, __VA_ARGS__)
#define TRACE_INTERNAL_V16(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V14(x, __VA_ARGS__)
#define TRACE_INTERNAL_K18(x, k, v, ...) k, TRACE_INTERNAL_K16(x, __VA_ARGS__)
#define TRACE_INTERNAL_V18(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V16(x, __VA_ARGS__)
#define TRACE_INTERNAL_K20(x, k, v, ...) k, TRACE_INTERNAL_K18(x, __VA_ARGS__)
#define TRACE_INTERNAL_V20(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V18(x, __VA_ARGS__)
#define TRACE_INTERNAL_K22(x, k, v, ...) k, TRACE_INTERNAL_K20(x, __VA_ARGS__)
#define TRACE_INTERNAL_V22(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V20(x, __VA_ARGS__)
#define TRACE_INTERNAL_K24(x, k, v, ...) k, TRACE_INTERNAL_K22(x, __VA_ARGS__)
#define TRACE_INTERNAL_V24(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V22(x, __VA_ARGS__)
#define TRACE_INTERNAL_K26(x, k, v, ...) k, TRACE_INTERNAL_K24(x, __VA_ARGS__)
#define TRACE_INTERNAL_V26(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V24(x, __VA_ARGS__)
#define TRACE_INTERNAL_K28(x, k, v, ...) k, TRACE_INTERNAL_K26(x, __VA_ARGS__)
#define TRACE_INTERNAL_V28(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V26(x, __VA_ARGS__)
#define TRACE_INTERNAL_K30(x, k, v, ...) k, TRACE_INTERNAL_K28(x, __VA_ARGS__)
#define TRACE_INTERNAL_V30(x, k, v, ...) TRACE_INTERNAL_ANY(v), TRACE_INTERNAL_V28(x, __VA_ARGS__)
/* The same with the number of fixed arguments before: x, then pairs.  An odd number is a name
 * without a value, and does not compile: TRACE_INTERNAL_K1 does not exist.  */
#define TRACE_INTERNAL_LESS_1_1  0
#define TRACE_INTERNAL_LESS_1_2  1
#define TRACE_INTERNAL_LESS_1_3  2
#define TRACE_INTERNAL_LESS_1_4  3
#define TRACE_INTERNAL_LESS_1_5  4
#define TRACE_INTERNAL_LESS_1_6  5
#define TRACE_INTERNAL_LESS_1_7  6
#define TRACE_INTERNAL_LESS_1_8  7
#define TRACE_INTERNAL_LESS_1_9  8
#define TRACE_INTERNAL_LESS_1_10 9
#define TRACE_INTERNAL_LESS_1_11 10
#define TRACE_INTERNAL_LESS_1_12 11
#define TRACE_INTERNAL_LESS_1_13 12
#define TRACE_INTERNAL_LESS_1_14 13
#define TRACE_INTERNAL_LESS_1_15 14
#define TRACE_INTERNAL_LESS_1_16 15
#define TRACE_INTERNAL_LESS_1_17 16
#define TRACE_INTERNAL_LESS_1_18 17
#define TRACE_INTERNAL_LESS_1_19 18
#define TRACE_INTERNAL_LESS_1_20 19
#define TRACE_INTERNAL_LESS_1_21 20
#define TRACE_INTERNAL_LESS_1_22 21
#define TRACE_INTERNAL_LESS_1_23 22
#define TRACE_INTERNAL_LESS_1_24 23
#define TRACE_INTERNAL_LESS_1_25 24
#define TRACE_INTERNAL_LESS_1_26 25
#define TRACE_INTERNAL_LESS_1_27 26
#define TRACE_INTERNAL_LESS_1_28 27
#define TRACE_INTERNAL_LESS_1_29 28
#define TRACE_INTERNAL_LESS_1_30 29
#define TRACE_INTERNAL_LESS_1_31 30
#define TRACE_INTERNAL_LESS_1_32 31
#define TRACE_INTERNAL_LESS_1_33 32
#define TRACE_INTERNAL_KEYS(...)                                                                \
    TRACE_INTERNAL_CAT(TRACE_INTERNAL_K, TRACE_INTERNAL_CAT(TRACE_INTERNAL_LESS_1_,             \
                                                            TRACE_INTERNAL_COUNT(__VA_ARGS__))) \
    (__VA_ARGS__)
#define TRACE_INTERNAL_VALUES(...)                                                              \
    TRACE_INTERNAL_CAT(TRACE_INTERNAL_V, TRACE_INTERNAL_CAT(TRACE_INTERNAL_LESS_1_,             \
                                                            TRACE_INTERNAL_COUNT(__VA_ARGS__))) \
    (__VA_ARGS__)
/* Pairs: half of what follows x.  */
#define TRACE_INTERNAL_PAIRS(...) ((TRACE_INTERNAL_COUNT(__VA_ARGS__) - 1) / 2)

#define TRACE_INTERNAL_MOST(a, b) ((a) > (b) ? (a) : (b))

#ifdef __cplusplus

namespace trace_internal
{

template <typename T> inline trace_arg_value_t pointer(T *value)
{
    trace_arg_value_t result = trace_make_pointer_arg_value(nullptr);
    result.value.pointer_value = TRACE_INTERNAL_ADDRESS(value);
    return result;
}
inline trace_arg_value_t pointer(std::nullptr_t)
{
    return trace_make_pointer_arg_value(nullptr);
}
inline trace_arg_value_t pointer(uintptr_t value) /* an address as a number */
{
    trace_arg_value_t result = trace_make_pointer_arg_value(nullptr);
    result.value.pointer_value = value;
    return result;
}

inline trace_arg_value_t any(trace_arg_value_t value)
{
    return value;
}
inline trace_arg_value_t any(std::nullptr_t)
{
    return TA_NULL();
}
inline trace_arg_value_t any(const char *value)
{
    return TA_STRING(value);
}
inline trace_arg_value_t any(char *value) /* and arrays */
{
    return TA_STRING(value);
}
inline trace_arg_value_t any(const std::string &value)
{
    return TA_CHAR_ARRAY(value.data(), value.size());
}
inline trace_arg_value_t any(std::string_view value)
{
    return TA_CHAR_ARRAY(value.data(), value.size());
}
template <typename T> inline trace_arg_value_t any(T *value)
{
    return pointer(value);
}
template <typename T,
          std::enable_if_t<std::is_arithmetic<T>::value || std::is_enum<T>::value, int> = 0>
inline trace_arg_value_t any(T value)
{
    if constexpr (std::is_enum<T>::value)
        return any(static_cast<std::underlying_type_t<T>>(value));
    else if constexpr (std::is_same<T, bool>::value)
        return TA_BOOL(value);
    else if constexpr (std::is_floating_point<T>::value)
        return TA_DOUBLE(static_cast<double>(value));
    else if constexpr (std::is_signed<T>::value && sizeof(T) <= 4)
        return TA_INT32(static_cast<int32_t>(value));
    else if constexpr (std::is_signed<T>::value)
        return TA_INT64(static_cast<int64_t>(value));
    else if constexpr (sizeof(T) <= 4)
        return TA_UINT32(static_cast<uint32_t>(value));
    else
        return TA_UINT64(static_cast<uint64_t>(value));
}

/* For TRACE_DURATION: a text that is gone before the end of the scope does not compile.  Bit-fields
 * and members of packed structures have no address, and bind to a constant reference only.  */
template <typename T> inline trace_arg_value_t kept(const T &value)
{
    return any(value);
}
template <typename T,
          std::enable_if_t<std::is_same<std::remove_cv_t<T>, std::string>::value, int> = 0>
inline trace_arg_value_t kept(T &&value)
{
    static_assert(!std::is_same<std::remove_cv_t<T>, std::string>::value,
                  "TRACE_DURATION: the string has to live until the end of the scope");
    return any(value);
}

/* An array in the midst of an expression.  */
template <size_t N> struct values {
    trace_arg_value_t items[N];
};

} // namespace trace_internal

#define TRACE_INTERNAL_ANY(value) ::trace_internal::any(value)
#define TRACE_INTERNAL_ARRAY(...)                                                         \
    (::trace_internal::values<TRACE_INTERNAL_MOST(1, TRACE_INTERNAL_PAIRS(__VA_ARGS__))>{ \
        { TRACE_INTERNAL_VALUES(__VA_ARGS__) } }                                          \
         .items)
#ifdef __clang__
#define TRACE_INTERNAL_CONSTANT __attribute__((require_constant_initialization))
#else
#define TRACE_INTERNAL_CONSTANT __constinit
#endif

#else /* C */

#define TRACE_INTERNAL_ANY(value) (value)
#define TRACE_INTERNAL_ARRAY(...) \
    ((const trace_arg_value_t[]){ TRACE_INTERNAL_VALUES(__VA_ARGS__) })
#define TRACE_INTERNAL_CONSTANT

#endif

/* ---- Call sites ---- */

#define TRACE_INTERNAL_GENERATION() __atomic_load_n(&trace_internal_generation[0], __ATOMIC_RELAXED)
#define TRACE_INTERNAL_ON()         __builtin_expect(TRACE_INTERNAL_GENERATION() != 0, 0)

/* The site's state if it is of this start and the category is enabled, else 0.  */
static inline uint64_t trace_internal_enter(trace_site_t *site)
{
    uint64_t state = __atomic_load_n(&site->state, __ATOMIC_ACQUIRE);

    if (__builtin_expect(TRACE_INTERNAL_CAST(uint32_t, state >> 32) != TRACE_INTERNAL_GENERATION(),
                         0))
        state = trace_internal_resolve(site);
    return state & 0xffff ? state : 0; /* the category's reference */
}

/* A site for (x, pairs...).  */
#define TRACE_INTERNAL_SITE(site_category, site_name, ...)                                    \
    static TRACE_INTERNAL_CONSTANT const char *const trace_internal_keys[] = {                \
        TRACE_INTERNAL_KEYS(__VA_ARGS__)                                                      \
    };                                                                                        \
    static uint16_t trace_internal_refs[TRACE_INTERNAL_PAIRS(__VA_ARGS__) + 1];               \
    static TRACE_INTERNAL_CONSTANT trace_site_t trace_internal_site = { 0,                    \
                                                                        site_category,        \
                                                                        site_name,            \
                                                                        trace_internal_keys,  \
                                                                        trace_internal_refs,  \
                                                                        TRACE_INTERNAL_PAIRS( \
                                                                            __VA_ARGS__) }

#ifndef NTRACE

#define TRACE_ENABLED() (TRACE_INTERNAL_ON() && trace_state() == TRACE_STARTED)
#define TRACE_CATEGORY_ENABLED(category) \
    (TRACE_INTERNAL_ON() && trace_is_category_enabled(category))
#define TRACE_NONCE() (trace_generate_nonce())

/* call is an expression that may use trace_internal_state.  */
#define TRACE_INTERNAL_AT(category, name, call, ...)                                    \
    do {                                                                                \
        if (TRACE_INTERNAL_ON()) {                                                      \
            TRACE_INTERNAL_SITE(category, name, __VA_ARGS__);                           \
            uint64_t trace_internal_state = trace_internal_enter(&trace_internal_site); \
            if (trace_internal_state)                                                   \
                call;                                                                   \
        }                                                                               \
    } while (0)

/* (x, pairs...): x stands for fixed arguments that were used.  */
#define TRACE_INTERNAL_EVENT(type, category, name, ...)                                      \
    TRACE_INTERNAL_AT(category, name,                                                        \
                      trace_internal_event(&trace_internal_site, trace_internal_state, type, \
                                           TRACE_INTERNAL_ARRAY(__VA_ARGS__)),               \
                      __VA_ARGS__)
#define TRACE_INTERNAL_WITH_ID(type, id, category, name, ...)                                  \
    TRACE_INTERNAL_AT(category, name,                                                          \
                      trace_internal_event_with_id(&trace_internal_site, trace_internal_state, \
                                                   type, TRACE_INTERNAL_CAST(uint64_t, id),    \
                                                   TRACE_INTERNAL_ARRAY(__VA_ARGS__)),         \
                      __VA_ARGS__)
#define TRACE_INTERNAL_VTHREAD(type, payload, category, name, thread, id, time, ...)               \
    TRACE_INTERNAL_AT(                                                                             \
        category, name,                                                                            \
        trace_internal_vthread_event(                                                              \
            &trace_internal_site, trace_internal_state, type, thread,                              \
            TRACE_INTERNAL_CAST(trace_vthread_id_t, id), TRACE_INTERNAL_CAST(trace_ticks_t, time), \
            TRACE_INTERNAL_CAST(uint64_t, payload), TRACE_INTERNAL_ARRAY(__VA_ARGS__)),            \
        __VA_ARGS__)

/* The last fixed argument is among the variable ones, because ISO C wants one there.  */
#define TRACE_INSTANT(category, name, ...)                                                 \
    TRACE_INTERNAL_AT(category, name,                                                      \
                      ((void)(TRACE_INTERNAL_FIRST(__VA_ARGS__)),                          \
                       trace_internal_event(&trace_internal_site, trace_internal_state, 0, \
                                            TRACE_INTERNAL_ARRAY(__VA_ARGS__))),           \
                      __VA_ARGS__)
#define TRACE_COUNTER(category, name, ...) \
    TRACE_INTERNAL_WITH_ID(1, TRACE_INTERNAL_FIRST(__VA_ARGS__), category, name, __VA_ARGS__)
#define TRACE_DURATION_BEGIN(category, ...) \
    TRACE_INTERNAL_EVENT(2, category, TRACE_INTERNAL_FIRST(__VA_ARGS__), __VA_ARGS__)
#define TRACE_DURATION_END(category, ...) \
    TRACE_INTERNAL_EVENT(3, category, TRACE_INTERNAL_FIRST(__VA_ARGS__), __VA_ARGS__)
#define TRACE_ASYNC_BEGIN(category, name, ...) \
    TRACE_INTERNAL_WITH_ID(5, TRACE_INTERNAL_FIRST(__VA_ARGS__), category, name, __VA_ARGS__)
#define TRACE_ASYNC_INSTANT(category, name, ...) \
    TRACE_INTERNAL_WITH_ID(6, TRACE_INTERNAL_FIRST(__VA_ARGS__), category, name, __VA_ARGS__)
#define TRACE_ASYNC_END(category, name, ...) \
    TRACE_INTERNAL_WITH_ID(7, TRACE_INTERNAL_FIRST(__VA_ARGS__), category, name, __VA_ARGS__)
#define TRACE_FLOW_BEGIN(category, name, ...) \
    TRACE_INTERNAL_WITH_ID(8, TRACE_INTERNAL_FIRST(__VA_ARGS__), category, name, __VA_ARGS__)
#define TRACE_FLOW_STEP(category, name, ...) \
    TRACE_INTERNAL_WITH_ID(9, TRACE_INTERNAL_FIRST(__VA_ARGS__), category, name, __VA_ARGS__)
#define TRACE_FLOW_END(category, name, ...) \
    TRACE_INTERNAL_WITH_ID(10, TRACE_INTERNAL_FIRST(__VA_ARGS__), category, name, __VA_ARGS__)

#define TRACE_VTHREAD_DURATION_BEGIN(category, name, thread, id, ...)                           \
    TRACE_INTERNAL_VTHREAD(2, 0, category, name, thread, id, TRACE_INTERNAL_FIRST(__VA_ARGS__), \
                           __VA_ARGS__)
#define TRACE_VTHREAD_DURATION_END(category, name, thread, id, ...)                             \
    TRACE_INTERNAL_VTHREAD(3, 0, category, name, thread, id, TRACE_INTERNAL_FIRST(__VA_ARGS__), \
                           __VA_ARGS__)
#define TRACE_VTHREAD_FLOW_BEGIN(category, name, thread, id, flow, ...)                            \
    TRACE_INTERNAL_VTHREAD(8, flow, category, name, thread, id, TRACE_INTERNAL_FIRST(__VA_ARGS__), \
                           __VA_ARGS__)
#define TRACE_VTHREAD_FLOW_STEP(category, name, thread, id, flow, ...)                             \
    TRACE_INTERNAL_VTHREAD(9, flow, category, name, thread, id, TRACE_INTERNAL_FIRST(__VA_ARGS__), \
                           __VA_ARGS__)
#define TRACE_VTHREAD_FLOW_END(category, name, thread, id, flow, ...) \
    TRACE_INTERNAL_VTHREAD(10, flow, category, name, thread, id,      \
                           TRACE_INTERNAL_FIRST(__VA_ARGS__), __VA_ARGS__)

#define TRACE_BLOB_EVENT(category, name, bytes, ...)                                               \
    TRACE_INTERNAL_AT(category, name,                                                              \
                      trace_internal_blob_event(&trace_internal_site, trace_internal_state, bytes, \
                                                TRACE_INTERNAL_FIRST(__VA_ARGS__),                 \
                                                TRACE_INTERNAL_ARRAY(__VA_ARGS__)),                \
                      __VA_ARGS__)
#define TRACE_BLOB_ATTACHMENT(category, name, bytes, size)                                       \
    TRACE_INTERNAL_AT(                                                                           \
        category, name,                                                                          \
        trace_internal_blob_attachment(&trace_internal_site, trace_internal_state, bytes, size), \
        0)
#define TRACE_BLOB(type, name, bytes, size)                                                        \
    do {                                                                                           \
        if (TRACE_INTERNAL_ON()) {                                                                 \
            trace_context_t *trace_internal_context = trace_acquire_context();                     \
            trace_string_ref_t trace_internal_ref;                                                 \
            if (trace_internal_context) {                                                          \
                trace_context_register_string_literal(trace_internal_context, name,                \
                                                      &trace_internal_ref);                        \
                trace_context_write_blob_record(trace_internal_context, type, &trace_internal_ref, \
                                                bytes, size);                                      \
                trace_release_context(trace_internal_context);                                     \
            }                                                                                      \
        }                                                                                          \
    } while (0)
#define TRACE_KERNEL_OBJECT(...)                                                                 \
    do {                                                                                         \
        if (TRACE_INTERNAL_ON()) {                                                               \
            static TRACE_INTERNAL_CONSTANT const char *const trace_internal_keys[] = {           \
                TRACE_INTERNAL_KEYS(__VA_ARGS__)                                                 \
            };                                                                                   \
            trace_internal_kernel_object(trace_internal_keys, TRACE_INTERNAL_FIRST(__VA_ARGS__), \
                                         TRACE_INTERNAL_ARRAY(__VA_ARGS__),                      \
                                         TRACE_INTERNAL_PAIRS(__VA_ARGS__));                     \
        }                                                                                        \
    } while (0)
#define TRACE_ALERT(category, name)                                                       \
    do {                                                                                  \
        if (TRACE_INTERNAL_ON()) {                                                        \
            trace_string_ref_t trace_internal_ref;                                        \
            trace_context_t *trace_internal_context = trace_acquire_context_for_category( \
                category, &trace_internal_ref);                                           \
            if (trace_internal_context) {                                                 \
                trace_context_send_alert(trace_internal_context, name);                   \
                trace_release_context(trace_internal_context);                            \
            }                                                                             \
        }                                                                                 \
    } while (0)

/* A duration's beginning, kept in the scope; its site is NULL when tracing was off there.  */
struct trace_internal_scope {
    const trace_site_t *site;
    uint64_t state;
    trace_ticks_t start;
    const trace_arg_value_t *values;
};

static inline void trace_internal_leave(struct trace_internal_scope *scope)
{
    if (__builtin_expect(scope->site != NULL, 0))
        trace_internal_duration(scope->site, scope->state, scope->start, scope->values);
}

static inline uint64_t trace_internal_begin(struct trace_internal_scope *scope, trace_site_t *site)
{
    uint64_t state = trace_internal_enter(site);

    if (state) {
        scope->state = state;
        scope->start = trace_get_ticks();
        scope->site = site;
    }
    return state;
}

#define TRACE_DURATION(category, ...) \
    TRACE_INTERNAL_SCOPE(category, TRACE_INTERNAL_FIRST(__VA_ARGS__), __LINE__, __VA_ARGS__)
#define TRACE_INTERNAL_SCOPE(category, name, line, ...) \
    TRACE_INTERNAL_SCOPE_(category, name, line, __VA_ARGS__)
#define TRACE_INTERNAL_SCOPE_(category, name, line, ...)                                         \
    trace_arg_value_t trace_internal_values_##line[TRACE_INTERNAL_PAIRS(__VA_ARGS__) + 1];       \
    __attribute__((                                                                              \
        cleanup(trace_internal_leave))) struct trace_internal_scope trace_internal_scope_##line; \
    trace_internal_scope_##line.site = NULL;                                                     \
    if (TRACE_INTERNAL_ON()) {                                                                   \
        TRACE_INTERNAL_SITE(category, name, __VA_ARGS__);                                        \
        if (trace_internal_begin(&trace_internal_scope_##line, &trace_internal_site)) {          \
            trace_internal_scope_##line.values = trace_internal_values_##line;                   \
            TRACE_INTERNAL_KEEP(trace_internal_values_##line, __VA_ARGS__);                      \
        }                                                                                        \
    }                                                                                            \
    (void)0

/* Values of a scope go into an array that lives as long as it does.  */
#define TRACE_INTERNAL_KEEP(array, ...)                                                         \
    TRACE_INTERNAL_CAT(TRACE_INTERNAL_S, TRACE_INTERNAL_CAT(TRACE_INTERNAL_LESS_1_,             \
                                                            TRACE_INTERNAL_COUNT(__VA_ARGS__))) \
    (array, 0, __VA_ARGS__)
#ifdef __cplusplus
#define TRACE_INTERNAL_KEPT(value) ::trace_internal::kept(value)
#else
#define TRACE_INTERNAL_KEPT(value) (value)
#endif
#define TRACE_INTERNAL_S0(array, i, x)       (void)array
#define TRACE_INTERNAL_S2(array, i, x, k, v) array[i] = TRACE_INTERNAL_KEPT(v)
#define TRACE_INTERNAL_S4(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);            \
    TRACE_INTERNAL_S2(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S6(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);            \
    TRACE_INTERNAL_S4(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S8(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);            \
    TRACE_INTERNAL_S6(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S10(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S8(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S12(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S10(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S14(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S12(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S16(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S14(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S18(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S16(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S20(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S18(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S22(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S20(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S24(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S22(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S26(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S24(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S28(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S26(array, i + 1, x, __VA_ARGS__)
#define TRACE_INTERNAL_S30(array, i, x, k, v, ...) \
    array[i] = TRACE_INTERNAL_KEPT(v);             \
    TRACE_INTERNAL_S28(array, i + 1, x, __VA_ARGS__)

#else /* NTRACE */

/* Arguments are looked at by the compiler, so that nothing becomes an unused variable, and not
 * evaluated.  */
#define TRACE_ENABLED()                  (false)
#define TRACE_CATEGORY_ENABLED(category) (false)
#define TRACE_NONCE()                    (UINT64_C(1))
#ifdef __cplusplus
namespace trace_internal
{
template <typename... T> inline void unused(const T &...)
{
}
} // namespace trace_internal
#define TRACE_INTERNAL_NOTHING(...)                \
    do {                                           \
        if (false)                                 \
            ::trace_internal::unused(__VA_ARGS__); \
    } while (0)
#else
static inline void trace_internal_unused(int count, ...)
{
    (void)count;
}
#define TRACE_INTERNAL_NOTHING(...)                                                \
    do {                                                                           \
        if (0)                                                                     \
            trace_internal_unused(TRACE_INTERNAL_COUNT(__VA_ARGS__), __VA_ARGS__); \
    } while (0)
#endif

#define TRACE_INSTANT(...)                TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_COUNTER(...)                TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_DURATION(...)               TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_DURATION_BEGIN(...)         TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_DURATION_END(...)           TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_ASYNC_BEGIN(...)            TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_ASYNC_INSTANT(...)          TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_ASYNC_END(...)              TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_FLOW_BEGIN(...)             TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_FLOW_STEP(...)              TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_FLOW_END(...)               TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_VTHREAD_DURATION_BEGIN(...) TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_VTHREAD_DURATION_END(...)   TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_VTHREAD_FLOW_BEGIN(...)     TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_VTHREAD_FLOW_STEP(...)      TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_VTHREAD_FLOW_END(...)       TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_BLOB_EVENT(...)             TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_BLOB_ATTACHMENT(...)        TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_BLOB(...)                   TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_KERNEL_OBJECT(...)          TRACE_INTERNAL_NOTHING(__VA_ARGS__)
#define TRACE_ALERT(...)                  TRACE_INTERNAL_NOTHING(__VA_ARGS__)

#endif /* NTRACE */

/* ---- For macros of one's own ---- */

/* TRACE_DECLARE_ARGS(context, args, "name", value...) declares trace_arg_t args[], with names that
 * are registered with the context; TRACE_NUM_ARGS("name", value...) is their number.  Fuchsia's
 * TRACE_COMPLETE_ARGS has nothing left to do.  In C++ strings have to live as long as args.  */
#define TRACE_NUM_ARGS(...) (TRACE_INTERNAL_COUNT(__VA_ARGS__) / 2)
#define TRACE_DECLARE_ARGS(context, args, ...)                                           \
    static const char *const args##_keys[] = { TRACE_INTERNAL_KEYS(0, __VA_ARGS__) };    \
    const trace_arg_value_t args##_values[] = { TRACE_INTERNAL_VALUES(0, __VA_ARGS__) }; \
    trace_arg_t args[TRACE_NUM_ARGS(__VA_ARGS__)];                                       \
    for (size_t args##_i = 0; args##_i < TRACE_NUM_ARGS(__VA_ARGS__); args##_i++) {      \
        trace_context_register_string_literal(context, args##_keys[args##_i],            \
                                              &args[args##_i].name_ref);                 \
        args[args##_i].value = args##_values[args##_i];                                  \
    }                                                                                    \
    (void)0
#define TRACE_COMPLETE_ARGS(context, args, num_args) \
    ((void)(context), (void)(args), (void)(num_args))

#endif /* FXT_TRACE_H */
