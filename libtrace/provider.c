/* The provider: a thread that finds a manager, registers, and does what the manager says.  */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <fxt/fidl_provider.h>

#include "base/utf8.h"
#include "libtrace/engine.h"
#include "libtrace/provider.h"

#define STACK_BYTES (64u << 10)
#define MOST_NAME   100
#define MOST_ALERTS 16
#define MOST_KNOWN  1000
#define RETRY_MS    1000  /* to look for a manager without a bell, and for closed descriptors */
#define LISTEN_MS   10000 /* with a bell, in case that it was removed */
#define BUSY_MS     20    /* where a manager has not got around to all who connect */
#define ANSWER_NS   UINT64_C(5000000000)

/* An alert on its way to the thread.  */
struct alert {
    uint64_t state; /* shared; 0 free, 1 being written, 2 ready */
    char name[TRACE_ALERT_SIZE];
};

struct trace_provider {
    char name[MOST_NAME + 1];
    bool exists, runs, recorder, synchronous;
    bool pending; /* in a child of fork(): its first event makes it a provider */
    bool broken;  /* the manager takes no packets */
    pthread_t thread;
    uint64_t ending; /* shared */
    struct trace_address address;
    struct trace_manager served; /* the manager that was registered with last */
    struct trace_wake wake;
    struct trace_fd bell, registry, channel, fifo;
    void *memory; /* NULL: not initialized */
    size_t size;
    uint32_t announced; /* the wrapped count of the last SAVE_BUFFER, plus 1 */
    struct alert alerts[MOST_ALERTS];
    uint64_t answer; /* shared: enum answer */
};

/* Of the manager, if there is one.  */
enum answer {
    NOT_ANSWERED,
    NOT_STARTED, /* or there is none */
    STARTED,
};

static struct trace_provider provider = {
    .wake = TRACE_NO_WAKE,
    .bell = TRACE_NO_FD,
    .registry = TRACE_NO_FD,
    .channel = TRACE_NO_FD,
    .fifo = TRACE_NO_FD,
};

/* One thread at a time, not forking meanwhile, and without a signal handler between.  */
static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;

static struct {
    struct known_category {
        const char *texts[2]; /* category, description; NULL: not yet */
    } items[MOST_KNOWN];
    uint64_t taken; /* shared: items that are filled or being filled */
} known;

/* Any number of threads at once: each takes a place, and fills it.  */
void trace_provider_add_known_category(const char *category, const char *description)
{
    uint64_t place = shared_add(&known.taken, 1);

    if (place >= MOST_KNOWN) {
        shared_store(&known.taken, MOST_KNOWN);
        return;
    }
    known.items[place].texts[1] = description ? description : "";
    __atomic_store_n(&known.items[place].texts[0], category, __ATOMIC_RELEASE);
}

/* ---- From other threads ---- */

static void wake_thread(void)
{
    int error = errno;

    trace_wake_ring(&provider.wake);
    errno = error;
}

static void send_alert(const char *name)
{
    for (size_t i = 0; i < MOST_ALERTS; i++) {
        uint64_t free = 0;

        if (!shared_swap(&provider.alerts[i].state, &free, 1))
            continue;
        memcpy(provider.alerts[i].name, name, TRACE_ALERT_SIZE);
        shared_store(&provider.alerts[i].state, 2);
        wake_thread();
        return;
    }
}

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- Messages and packets ---- */

static void answer(enum answer what)
{
    shared_store(&provider.answer, what);
    shared_wake(&provider.answer, true);
}

/* To the registry, with one end of the channel.  */
static bool send_registration(const void *bytes, size_t length, int handle)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = { .bytes = { 0 } };
    struct iovec part = { (void *)bytes, length };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };

    control.header = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
                                       .cmsg_level = SOL_SOCKET,
                                       .cmsg_type = SCM_RIGHTS };
    memcpy(CMSG_DATA(&control.header), &handle, sizeof handle);
    return trace_fd_is_open(&provider.registry) &&
           sendmsg(provider.registry.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)length;
}

/* Once a session has begun, calls of sockets alone are not made any more: the program may have
 * forbidden them to itself.  Descriptors are non-blocking, and SIGPIPE is blocked.  */
static bool send_bytes(struct trace_fd *fd, const void *bytes, size_t length)
{
    return trace_fd_is_open(fd) && write(fd->fd, bytes, length) == (ssize_t)length;
}

/* A manager that does not read its packets for that long is treated as gone.  */
static bool send_packet(const struct trace_packet *packet)
{
    for (unsigned i = 0; i < 100 && !provider.broken; i++) {
        struct pollfd room = { .fd = provider.fifo.fd, .events = POLLOUT };

        if (send_bytes(&provider.fifo, packet, sizeof *packet))
            return true;
        if (errno != EAGAIN || !trace_fd_is_open(&provider.fifo))
            break;
        (void)poll(&room, 1, 100);
    }
    provider.broken = true; /* serve() ends */
    return false;
}

/* A packet or message.  0: gone; -1: nothing now.  */
static ssize_t receive(struct trace_fd *fd, void *bytes, size_t size)
{
    ssize_t length = trace_fd_is_open(fd) ? read(fd->fd, bytes, size) : 0;

    return length >= 0 ? length : errno == EAGAIN || errno == EINTR ? -1 : 0;
}

/* A message, with what descriptors came along.  0: gone; -1: nothing now.  */
static ssize_t receive_with_handles(struct trace_fd *fd, void *bytes, size_t size, int handles[2])
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(2 * sizeof(int))];
    } control;
    struct iovec part = { bytes, size };
    struct msghdr message = { .msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes };
    struct cmsghdr *header;
    ssize_t length;

    handles[0] = handles[1] = -1;
    if (!trace_fd_is_open(fd) || trace_is_confined())
        return 0;
    length = recvmsg(fd->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (length < 0)
        return errno == EAGAIN || errno == EINTR ? -1 : 0;
    header = CMSG_FIRSTHDR(&message);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS)
        memcpy(handles, CMSG_DATA(header),
               header->cmsg_len - CMSG_LEN(0) < 2 * sizeof(int) ? header->cmsg_len - CMSG_LEN(0)
                                                                : 2 * sizeof(int));
    return length;
}

static void close_handles(int handles[2])
{
    for (unsigned i = 0; i < 2; i++)
        if (handles[i] >= 0)
            (void)close(handles[i]);
}

/* ---- What the manager asks for ---- */

/* A memory that cannot shrink under us, of a size that a buffer can have.  */
static bool map_buffer(int fd)
{
    struct stat status;
    int seals = fcntl(fd, F_GET_SEALS);
    void *memory;

    if (fstat(fd, &status) != 0 || seals < 0 || !(seals & F_SEAL_SHRINK) ||
        status.st_size < (off_t)TRACE_MIN_BYTES || status.st_size > (off_t)TRACE_MAX_BYTES ||
        status.st_size % 4096 != 0)
        return false;
    memory = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED)
        return false;
    provider.memory = memory;
    provider.size = (size_t)status.st_size;
    return true;
}

/* The categories of a message with NULs between.  */
static char category_text[FIDL_MAX_MESSAGE];

static struct trace_categories take_categories(struct fidl_strings list)
{
    struct trace_categories categories = { .text = category_text };
    struct fidl_string string;
    size_t used = 0;

    while (fidl_strings_next(&list, &string)) { /* each took 16 bytes more in the message */
        memcpy(category_text + used, string.text, string.length);
        used += string.length;
        category_text[used++] = '\0';
        categories.count++;
    }
    return categories;
}

static void unmap_buffer(void)
{
    if (trace_engine_terminate() && provider.memory)
        (void)munmap(provider.memory, provider.size);
    provider.memory = NULL;
    trace_fd_close(&provider.fifo);
}

static void on_initialize(const struct fidl_provider_message *message, int handles[2])
{
    struct trace_categories categories = take_categories(message->list);

    if (provider.memory) /* a second one is ignored */
        return;
    (void)fcntl(handles[1], F_SETFL, O_RDWR | O_NONBLOCK);
    trace_fd_take(&provider.fifo, handles[1]);
    handles[1] = -1;
    provider.announced = 0;
    if (!map_buffer(handles[0]) ||
        !trace_engine_initialize(provider.memory, provider.size,
                                 (enum trace_mode)(message->mode - 1), &categories))
        unmap_buffer(); /* the manager sees the end of the packets */
}

static void on_start(const struct fidl_provider_message *message)
{
    const struct trace_packet started = { .request = TRACE_PACKET_STARTED,
                                          .data32 = TRACE_PROTOCOL_VERSION };
    struct trace_categories additional = take_categories(message->list);

    if (!provider.memory)
        return;
    if (trace_engine_start((enum trace_disposition)message->disposition, &additional)) {
        if (message->disposition != TRACE_RETAIN)
            provider.announced = 0;
        (void)send_packet(&started);
    }
    answer(STARTED);
}

static void on_stop(void)
{
    const struct trace_packet stopped = { .request = TRACE_PACKET_STOPPED };

    if (trace_engine_stop())
        (void)send_packet(&stopped);
}

static bool encode_categories(uint32_t txid, const char *const *texts, size_t count,
                              uint8_t bytes[FIDL_MAX_MESSAGE], size_t *length)
{
    const struct fidl_provider_message reply = { .method = FIDL_PROVIDER_CATEGORIES, .txid = txid };

    return fidl_provider_encode(&reply, texts, count, bytes, FIDL_MAX_MESSAGE, length) == FIDL_OK;
}

/* Those that a message can hold: one that is too long, or no text, takes no others with it.  */
static void send_categories(uint32_t txid)
{
    static uint8_t bytes[FIDL_MAX_MESSAGE];
    static const char *texts[2 * MOST_KNOWN];
    size_t count = 0, length;

    for (size_t i = 0; i < MOST_KNOWN && i < shared_load(&known.taken); i++) {
        texts[count] = __atomic_load_n(&known.items[i].texts[0], __ATOMIC_ACQUIRE);
        texts[count + 1] = known.items[i].texts[1];
        if (texts[count] && encode_categories(txid, texts + count, 2, bytes, &length))
            count += 2;
    }
    while (!encode_categories(txid, texts, count, bytes, &length)) {
        if (count == 0)
            return;
        count -= 2; /* as many as there is room for */
    }
    (void)send_bytes(&provider.channel, bytes, length);
}

/* False when the manager is gone.  */
static bool read_channel(void)
{
    static uint8_t bytes[FIDL_MAX_MESSAGE];
    struct fidl_provider_message message;
    int handles[2] = { -1, -1 };
    ssize_t length = provider.memory
                         ? receive(&provider.channel, bytes, sizeof bytes)
                         : receive_with_handles(&provider.channel, bytes, sizeof bytes, handles);

    if (length <= 0)
        return length < 0;
    if (fidl_provider_decode(bytes, (size_t)length, false, &message) != FIDL_OK) {
        close_handles(handles);
        return false;
    }
    switch (message.method) {
    case FIDL_PROVIDER_INITIALIZE:
        on_initialize(&message, handles);
        break;
    case FIDL_PROVIDER_START:
        on_start(&message);
        break;
    case FIDL_PROVIDER_STOP:
        on_stop();
        break;
    case FIDL_PROVIDER_TERMINATE:
        on_stop();
        unmap_buffer();
        break;
    case FIDL_PROVIDER_GET_CATEGORIES:
        send_categories(message.txid);
        break;
    default:
        break;
    }
    close_handles(handles);
    return true;
}

/* False when there will be no more packets.  */
static bool read_fifo(void)
{
    struct trace_packet packet = { .request = 0 };
    ssize_t length = receive(&provider.fifo, &packet, sizeof packet);

    if (length == (ssize_t)sizeof packet && packet.request == TRACE_PACKET_BUFFER_SAVED)
        (void)trace_engine_saved(packet.data32);
    return length != 0;
}

/* ---- The thread ---- */

static void send_filled(void)
{
    struct trace_filled filled;

    if (!provider.memory || !trace_engine_take_filled(&filled) ||
        filled.wrapped_count + 1 == provider.announced)
        return;
    if (send_packet(&(struct trace_packet){ .request = TRACE_PACKET_SAVE_BUFFER,
                                            .data32 = filled.wrapped_count,
                                            .data64 = filled.durable_end }))
        provider.announced = filled.wrapped_count + 1;
}

static void send_alerts(void)
{
    for (size_t i = 0; i < MOST_ALERTS; i++) {
        struct trace_packet packet = { .request = TRACE_PACKET_ALERT };

        if (shared_load(&provider.alerts[i].state) != 2)
            continue;
        memcpy((char *)&packet + 2, provider.alerts[i].name, TRACE_ALERT_SIZE);
        shared_store(&provider.alerts[i].state, 0);
        if (provider.fifo.fd >= 0)
            (void)send_packet(&packet);
    }
}

static void read_wake(void)
{
    trace_wake_read(&provider.wake);
    send_alerts();
    send_filled();
}

/* The answer to RegisterProviderSynchronously.  */
static void read_registry(void)
{
    struct fidl_provider_message message;
    uint8_t bytes[64];
    ssize_t length = receive(&provider.registry, bytes, sizeof bytes);

    if (length < 0)
        return;
    /* Where it records already, the start that follows is waited for.  */
    if (length == 0 || fidl_provider_decode(bytes, (size_t)length, true, &message) != FIDL_OK ||
        !message.started)
        answer(NOT_STARTED);
    trace_fd_close(&provider.registry);
}

static bool register_at(int fd)
{
    struct fidl_provider_message message = {
        .method = provider.synchronous ? FIDL_REGISTRY_REGISTER_SYNC : FIDL_REGISTRY_REGISTER,
        .txid = provider.synchronous ? 1 : 0,
        .pid = (uint64_t)getpid(),
        .name = { provider.name, (uint32_t)strlen(provider.name) },
    };
    uint8_t bytes[256];
    int ends[2];
    size_t length;
    bool sent;

    trace_fd_take(&provider.registry, fd);
    if (fidl_provider_encode(&message, NULL, 0, bytes, sizeof bytes, &length) != FIDL_OK ||
        socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
        return false;
    (void)fcntl(ends[0], F_SETFL, O_RDWR | O_NONBLOCK);
    trace_fd_take(&provider.channel, ends[0]);
    sent = send_registration(bytes, length, ends[1]);
    (void)close(ends[1]);
    if (!provider.synchronous)
        trace_fd_close(&provider.registry);
    return sent;
}

static bool is_ending(void)
{
    return shared_load(&provider.ending) != 0;
}

/* Until the manager is gone.  */
static void serve(void)
{
    bool fine = true;

    provider.broken = false;
    while (fine && !provider.broken && !is_ending()) {
        struct pollfd polled[] = {
            { .fd = provider.wake.in.fd, .events = POLLIN },
            { .fd = provider.channel.fd, .events = POLLIN },
            { .fd = provider.fifo.fd, .events = POLLIN },
            { .fd = provider.registry.fd, .events = POLLIN },
        };

        (void)poll(polled, 4, RETRY_MS);
        if (!trace_wake_is_open(&provider.wake)) /* the program may have its number by now, and
                                                    poll(2) then looks at that */
            break;
        if (polled[3].revents)
            read_registry();
        if (polled[1].revents)
            fine = read_channel();
        if (polled[2].revents && provider.fifo.fd == polled[2].fd)
            fine = read_fifo() && fine;
        read_wake();
    }
    on_stop();
    unmap_buffer();
    trace_fd_close(&provider.channel);
    trace_fd_close(&provider.registry);
}

/* A manager comes, or there is something to do for us.  */
static void wait_for_manager(int timeout_ms)
{
    struct pollfd polled[] = {
        { .fd = provider.wake.in.fd, .events = POLLIN },
        { .fd = provider.bell.fd, .events = 0 },
    };

    (void)poll(polled, 2, timeout_ms);
    if ((polled[0].revents & POLLIN) && !trace_is_confined())
        read_wake();
}

/* One that has had us, and has let us go, is not bothered again.  */
static int connect_to_other(struct trace_manager *manager, bool *busy)
{
    *busy = false;
    trace_address_look(&provider.address, manager);
    if (manager->inode == 0 || memcmp(manager, &provider.served, sizeof *manager) == 0)
        return -1;
    return trace_address_connect(&provider.address, busy);
}

static int time_to_wait(bool failed, bool busy)
{
    if (busy)
        return BUSY_MS;
    return failed || provider.bell.fd < 0 ? RETRY_MS : LISTEN_MS;
}

static void wait_for_descriptors(void)
{
    const struct timespec moment = { RETRY_MS / 1000, RETRY_MS % 1000 * 1000000L };
    struct pollfd polled = { .fd = provider.wake.in.fd, .events = POLLIN };

    answer(NOT_STARTED);
    if (!trace_wake_is_open(&provider.wake))
        shared_sleep_for(&provider.ending, 0, &moment);
    else if (poll(&polled, 1, RETRY_MS) > 0)
        read_wake();
}

/* Another thread may be using it, to end this one.  */
static bool renew_wake(void)
{
    if (pthread_mutex_trylock(&changing) != 0)
        return false;
    if (!is_ending()) {
        trace_wake_close(&provider.wake);
        (void)trace_wake_make(&provider.wake);
    }
    (void)pthread_mutex_unlock(&changing);
    return trace_wake_is_open(&provider.wake);
}

/* A program that has forbidden system calls to all its threads looks for no manager any more: it
 * might be ended by that.  One that has used up its descriptors will have some again.  One that
 * has closed ours may be about to open others, and to count on their numbers: it has time for it.
 */
static bool goes_on(void)
{
    enum trace_confinement confinement;

    trace_fd_close(&provider.bell);
    if (!trace_wake_is_open(&provider.wake))
        wait_for_descriptors();
    while (!is_ending() && (confinement = trace_confinement()) != TRACE_IS_CONFINED) {
        if (confinement == TRACE_IS_FREE && (trace_wake_is_open(&provider.wake) || renew_wake()))
            return true;
        wait_for_descriptors();
    }
    return false;
}

static void *run(void *none)
{
    (void)none;
    (void)prctl(PR_SET_NAME, "fxt-trace", 0, 0, 0);
    while (goes_on()) {
        struct trace_manager manager;
        bool busy;
        int fd;

        trace_fd_take(&provider.bell, trace_address_listen(&provider.address));
        fd = connect_to_other(&manager, &busy); /* after, so that nothing is missed between */
        if (fd >= 0 && register_at(fd)) {
            provider.served = manager;
            trace_fd_close(&provider.bell);
            serve();
            continue;
        }
        trace_fd_close(&provider.registry);
        trace_fd_close(&provider.channel);
        if (!busy)
            answer(NOT_STARTED);
        wait_for_manager(time_to_wait(fd >= 0, busy));
    }
    trace_fd_close(&provider.bell);
    answer(NOT_STARTED);
    if (trace_is_confined()) /* without what the C library does at the end of a thread */
        (void)syscall(SYS_exit, 0);
    return NULL;
}

/* Bytes of thread-local storage of an object, which every stack has at its end.  */
static int add_storage(struct dl_phdr_info *object, size_t size, void *sum)
{
    (void)size;
    for (size_t i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_TLS)
            *(size_t *)sum += object->dlpi_phdr[i].p_memsz + object->dlpi_phdr[i].p_align;
    return 0;
}

static size_t stack_bytes(void)
{
    size_t storage = 0;

    (void)dl_iterate_phdr(add_storage, &storage);
    return ((size_t)PTHREAD_STACK_MIN + STACK_BYTES + storage + 4095) / 4096 * 4096;
}

/* The thread, and the destructors of threads, outlive the plugin that brought this code: it stays.
 * The shared library says so itself; it may also be linked into a plugin.  A static program has
 * no dlopen(), and nothing to unload.  */
#pragma weak dlopen
#pragma weak dladdr1
static void stay_loaded(void)
{
    struct link_map *map = NULL;
    Dl_info object;

    if (dlopen && dladdr1 && dladdr1(&provider, &object, (void **)&map, RTLD_DL_LINKMAP) != 0 &&
        map && map->l_name && map->l_name[0] != '\0') /* not the program itself */
        (void)dlopen(map->l_name, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE);
}

/* All signals are blocked, as they are to be in the thread.  */
static bool start_thread(void)
{
    pthread_attr_t attributes;
    bool done;

    if (!trace_wake_make(&provider.wake) || pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_setstacksize(&attributes, stack_bytes());
    done = pthread_create(&provider.thread, &attributes, run, NULL) == 0;
    (void)pthread_attr_destroy(&attributes);
    provider.runs = done;
    if (!done)
        trace_wake_close(&provider.wake);
    return done;
}

/* ---- Changing the provider ---- */

static void begin_change(sigset_t *before)
{
    sigset_t all;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, before);
    (void)pthread_mutex_lock(&changing);
}

static void end_change(const sigset_t *before)
{
    (void)pthread_mutex_unlock(&changing);
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* ---- fork() ---- */

/* The first event of a child: now it is a provider, too.  In a handler that interrupted a record,
 * and forked, it has to wait until the record has come to its end.  */
static void begin_pending(void)
{
    uint32_t pending = TRACE_PENDING;
    int error = errno;
    sigset_t before;

    if (trace_engine_is_inside())
        return;
    begin_change(&before);
    if (__atomic_compare_exchange_n(&trace_internal_generation[0], &pending, 0, false,
                                    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
        provider.pending = false;
        if (trace_is_confined()) /* it may neither make files nor threads */
            provider.exists = false;
        else if (provider.recorder)
            (void)trace_recorder_begin();
        else
            (void)start_thread();
    }
    end_change(&before);
    errno = error;
}

static sigset_t before_fork;

static void prepare_fork(void)
{
    sigset_t before;

    begin_change(&before);
    before_fork = before;
}

static void in_parent(void)
{
    sigset_t before = before_fork;

    end_change(&before);
}

static void forget_provider(bool inside)
{
    trace_wake_close(&provider.wake);
    trace_fd_close(&provider.bell);
    trace_fd_close(&provider.registry);
    trace_fd_close(&provider.channel);
    trace_fd_close(&provider.fifo);
    trace_recorder_forget(inside);
    if (provider.memory)
        trace_memory_forget(provider.memory, provider.size, inside);
    provider.memory = NULL;
    memset(provider.alerts, 0, sizeof provider.alerts);
    memset(&provider.served, 0, sizeof provider.served);
    provider.pending = true;
    provider.runs = provider.synchronous = false;
    answer(NOT_STARTED); /* where a signal handler that forked interrupted the wait for it */
    trace_engine_forget(true);
}

static void in_child(void)
{
    sigset_t before = before_fork;
    bool inside = trace_engine_is_inside();

    (void)pthread_mutex_init(&changing, NULL);
    if (provider.exists)
        forget_provider(inside);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- Creating ---- */

/* Other texts cannot be sent.  */
static void make_utf8(char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t bytes = base_utf8_character(text + at, length - at);

        if (bytes == 0)
            text[at] = '?';
        at += bytes ? bytes : 1;
    }
}

static void set_name(const char *name)
{
    size_t length;

    if (!name)
        name = program_invocation_short_name ? program_invocation_short_name : "";
    length = strnlen(name, MOST_NAME);
    while (length > 0 && (name[length] & 0xc0) == 0x80) /* whole characters */
        length--;
    memcpy(provider.name, name, length);
    provider.name[length] = '\0';
    make_utf8(provider.name, length);
}

static bool begin(void)
{
    static bool has_handlers;

    stay_loaded();
    trace_engine_setup();
    if (trace_is_confined()) /* since an earlier provider */
        return false;
    trace_host.wake = wake_thread;
    trace_host.alert = send_alert;
    trace_host.begin = begin_pending;
    if (!has_handlers)
        has_handlers = pthread_atfork(prepare_fork, in_parent, in_child) == 0;
    provider.ending = 0;
    memset(provider.alerts, 0, sizeof provider.alerts); /* of an earlier one */
    memset(&provider.served, 0, sizeof provider.served);
    provider.recorder = trace_recorder_is_wanted();
    if (provider.recorder)
        return trace_recorder_begin();
    trace_address_find(&provider.address);
    return provider.address.socket[0] != '\0' && start_thread();
}

/* A child that asks for a provider of its own gets it, and is none from its first event on.  */
static void end_pending(void)
{
    uint32_t pending = TRACE_PENDING;

    if (!provider.pending)
        return;
    (void)__atomic_compare_exchange_n(&trace_internal_generation[0], &pending, 0, false,
                                      __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    provider.pending = provider.exists = false;
}

static trace_provider_t *create(const char *name, bool synchronous)
{
    trace_provider_t *result = NULL;
    int error = errno;
    sigset_t before;

    if (trace_engine_is_inside()) /* in a signal handler */
        return NULL;
    begin_change(&before);
    end_pending();
    if (!provider.exists) {
        set_name(name);
        provider.synchronous = synchronous;
        shared_store(&provider.answer, NOT_ANSWERED);
        provider.exists = begin();
        result = provider.exists ? &provider : NULL;
    }
    end_change(&before);
    errno = error;
    return result;
}

/* False: it did not come in time.  */
static bool wait_for_answer(void)
{
    const struct timespec moment = { 0, 100000000 };
    uint64_t begun_ns = now_ns(), passed_ns = 0;

    while (shared_load(&provider.answer) == NOT_ANSWERED && passed_ns < ANSWER_NS) {
        shared_sleep_for(&provider.answer, NOT_ANSWERED, &moment);
        passed_ns = now_ns() - begun_ns;
    }
    return shared_load(&provider.answer) != NOT_ANSWERED;
}

/* A program that a manager has started is recorded from its beginning.  */
trace_provider_t *trace_provider_create_with_name(const char *name)
{
    const char *socket_path = secure_getenv("FXT_TRACE_SOCKET");

    return socket_path && socket_path[0] != '\0' ? trace_provider_create_synchronously(name, NULL)
                                                 : create(name, false);
}

trace_provider_t *trace_provider_create_synchronously(const char *name, bool *already_started)
{
    trace_provider_t *result = create(name, true);
    bool started;

    if (!result)
        started = false;
    else if (provider.recorder)
        started = true;
    else
        started = wait_for_answer() && shared_load(&provider.answer) == STARTED;
    if (already_started)
        *already_started = started;
    return result;
}

static void destroy(void)
{
    end_pending();
    if (provider.recorder)
        trace_recorder_end();
    if (provider.runs) {
        shared_store(&provider.ending, 1);
        shared_wake(&provider.ending, true);
        wake_thread();
        (void)pthread_join(provider.thread, NULL);
        provider.runs = false;
    }
    trace_wake_close(&provider.wake);
    provider.exists = false;
}

void trace_provider_destroy(trace_provider_t *which)
{
    int error = errno;
    sigset_t before;

    if (!which || trace_engine_is_inside())
        return;
    begin_change(&before);
    if (provider.exists)
        destroy();
    end_change(&before);
    errno = error;
}
