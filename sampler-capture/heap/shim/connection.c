/* connection.c - the socket to the capture.
 *
 * The program may close descriptors that are not its own, and get the number again for a file of
 * its own: before each send the descriptor is looked at, so that nothing of ours ever goes
 * there.  */
#include "sampler-capture/heap/shim/shim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SEND_BUFFER (1 << 20) /* the kernel grants what its limit allows */

struct heap_losses *shim_losses(void)
{
    static struct heap_losses unread;

    return shim_process->losses ? shim_process->losses : &unread;
}

void shim_count(_Atomic uint64_t *counter)
{
    (void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static bool is_socket(int fd, uint64_t device, uint64_t inode)
{
    struct stat status;

    return fstat(fd, &status) == 0 && status.st_dev == device && status.st_ino == inode;
}

bool shim_is_open(void)
{
    return is_socket(shim_process->fd, shim_process->fd_device, shim_process->fd_inode);
}

/* The connection, for a child.  */
static struct {
    int fd; /* 0: none, which ours never is */
    uint64_t device, inode;
} parents;

void shim_leave_parent(void)
{
    int error = errno;

    if (parents.fd > 0 && is_socket(parents.fd, parents.device, parents.inode))
        (void)syscall(SYS_close, parents.fd);
    parents.fd = 0;
    errno = error;
}

/* Of fewer descriptors the program may need each.  */
#define LEAST_LIMIT 32

/* How many descriptors the program may have open; 0: too few to take one.  */
static int descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < LEAST_LIMIT)
        return 0;
    return limit.rlim_cur < INT_MAX ? (int)limit.rlim_cur : INT_MAX;
}

/* Out of the way of programs that count on low numbers, and of shells, which use those from 10 on
 * and 255.  */
static int move_up(int fd, int limit)
{
    const int least[] = { 900, 400, 100, limit - 1 };

    for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
        int higher = fcntl(fd, F_DUPFD_CLOEXEC, least[i]);

        if (higher >= 0) {
            (void)syscall(SYS_close, fd);
            return higher;
        }
    }
    return fd;
}

static void close_own(void)
{
    if (shim_process->fd > 0 && shim_is_open())
        (void)syscall(SYS_close, shim_process->fd);
    shim_process->fd = -1;
}

/* Name the socket after a slot of the losses (protocol.h).  */
static bool name_socket(int fd, uint32_t serial, uint32_t index)
{
    static const char hexadecimal[] = "0123456789abcdef";
    uint64_t number = (uint64_t)serial << 32 | index;
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t folder = strlen(shim_settings.folder), size = 1 + folder + 1 + HEAP_NAME_DIGITS;

    _Static_assert(1 + HEAP_MAX_FOLDER + 1 + HEAP_NAME_DIGITS <= sizeof address.sun_path, "");
    memcpy(address.sun_path + 1, shim_settings.folder, folder);
    address.sun_path[1 + folder] = '/';
    for (size_t i = size; i > size - HEAP_NAME_DIGITS; number >>= 4)
        address.sun_path[--i] = hexadecimal[number & 15];
    return syscall(SYS_bind, fd, &address, offsetof(struct sockaddr_un, sun_path) + size) == 0;
}

/* Where the name cannot be had, or all slots are taken, the process is counted with others.  */
static void take_losses(int fd)
{
    struct heap_loss_file *file = shim_settings.losses;
    uint32_t serial;

    if (!file)
        return;
    serial = atomic_fetch_add(&file->taken, 1) + 1;
    shim_process->losses = &file->others;
    for (uint32_t i = 0; serial != 0 && i < HEAP_LOSS_SLOTS; i++) {
        uint32_t index = (serial + i) % HEAP_LOSS_SLOTS, nobody = 0;
        struct heap_losses *slot = &file->slots[index];

        if (!atomic_compare_exchange_strong(&slot->serial, &nobody, serial))
            continue;
        if (name_socket(fd, serial, index))
            shim_process->losses = slot;
        else
            atomic_store(&slot->serial, 0);
        return;
    }
}

static void give_losses(void)
{
    struct heap_losses *losses = shim_process->losses;

    shim_process->losses = NULL;
    if (losses && losses != &shim_settings.losses->others)
        atomic_store(&losses->serial, 0);
}

/* ---- Whom to trust (protocol.h) ---- */

bool shim_is_over(void)
{
    return !shim_settings.losses || atomic_load(&shim_settings.losses->over);
}

static bool is_trusted_user(uid_t user)
{
    return user == geteuid() || user == 0;
}

static bool is_trusted(int fd, mode_t kind)
{
    struct stat status;

    return fstat(fd, &status) == 0 && (status.st_mode & S_IFMT) == kind &&
           (status.st_mode & (S_IRWXG | S_IRWXO)) == 0 && is_trusted_user(status.st_uid) &&
           (kind == S_IFDIR || status.st_nlink == 1);
}

static int keep_trusted(long fd, mode_t kind)
{
    if (fd < 0 || is_trusted((int)fd, kind))
        return (int)fd;
    (void)syscall(SYS_close, fd);
    errno = EPERM;
    return -1;
}

static int open_folder(void)
{
    return keep_trusted(syscall(SYS_openat, AT_FDCWD, shim_settings.folder,
                                O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
                        S_IFDIR);
}

int shim_open_in_folder(const char *name, int flags)
{
    int folder = open_folder(), fd;

    if (folder < 0)
        return -1;
    fd = keep_trusted(
        syscall(SYS_openat, folder, name, flags | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK), S_IFREG);
    (void)syscall(SYS_close, folder);
    return fd;
}

/* Who listens on the other side.  */
static bool is_trusted_server(int fd)
{
    struct ucred peer = { 0, (uid_t)-1, 0 };
    socklen_t size = sizeof peer;

    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && is_trusted_user(peer.uid);
}

/* ---- The gate ---- */

static int still(const struct shim_inherited *inherited, mode_t kind)
{
    struct stat status;

    if (inherited->fd <= 0 || fstat(inherited->fd, &status) != 0 ||
        (status.st_mode & S_IFMT) != kind || status.st_ino != inherited->inode)
        return -1;
    return inherited->fd;
}

int shim_gate(void)
{
    return still(&shim_settings.gate, S_IFSOCK);
}

int shim_inherited_losses(void)
{
    return still(&shim_settings.inherited_losses, S_IFREG);
}

static void wait_a_moment(void)
{
    const struct timespec moment = { 0, 1000000 };

    (void)syscall(SYS_nanosleep, &moment, NULL);
}

/* Room for one descriptor beside a message.  */
union passed {
    struct cmsghdr aligned;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static bool send_patiently(int gate, const struct msghdr *header)
{
    for (int waited_ms = 0; waited_ms < SHIM_PATIENCE_MS; waited_ms++) {
        if (syscall(SYS_sendmsg, gate, header, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
            return true;
        if (errno != EAGAIN && errno != EINTR)
            return false;
        wait_a_moment();
    }
    return false;
}

static bool send_through_gate(int gate, char kind, int fd)
{
    union passed passed = { .bytes = { 0 } };
    struct iovec what = { .iov_base = &kind, .iov_len = 1 };
    struct msghdr header = {
        .msg_iov = &what, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed
    };
    struct cmsghdr *part = CMSG_FIRSTHDR(&header);

    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(part), &fd, sizeof fd);
    return send_patiently(gate, &header);
}

/* The folder is not for those who have given up their user or root folder.  */
void shim_send_names(const struct shim_names *names)
{
    int fd = shim_open_in_folder(HEAP_NAMES_NAME, O_WRONLY | O_APPEND), gate;
    struct iovec packet[] = {
        { .iov_base = (void *)&names->kind, .iov_len = 1 },
        { .iov_base = (void *)names->bytes, .iov_len = names->used },
    };
    const struct msghdr header = { .msg_iov = packet, .msg_iovlen = 2 };

    if (fd >= 0) {
        (void)syscall(SYS_write, fd, names->bytes, names->used);
        (void)syscall(SYS_close, fd);
        return;
    }
    gate = shim_gate();
    if (gate >= 0)
        (void)send_patiently(gate, &header);
}

/* The descriptor that comes with one byte; -1: none does in time.  */
static int receive_descriptor(int from)
{
    struct pollfd wanted = { .fd = from, .events = POLLIN };
    struct timespec patience = { 0, SHIM_PATIENCE_MS * 1000000L };
    union passed passed = { .bytes = { 0 } };
    char byte;
    struct iovec where = { .iov_base = &byte, .iov_len = 1 };
    struct msghdr header = {
        .msg_iov = &where, .msg_iovlen = 1, .msg_control = &passed, .msg_controllen = sizeof passed
    };
    struct cmsghdr *part;
    int fd;

    if (syscall(SYS_ppoll, &wanted, 1, &patience, NULL, 0) <= 0 ||
        syscall(SYS_recvmsg, from, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1)
        return -1;
    part = CMSG_FIRSTHDR(&header);
    if (!part || part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS ||
        part->cmsg_len != CMSG_LEN(sizeof fd))
        return -1;
    memcpy(&fd, CMSG_DATA(part), sizeof fd);
    return fd;
}

static int fetch_losses_through_gate(void)
{
    int gate = shim_gate(), pair[2], fd = -1;

    if (gate < 0 || syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    if (send_through_gate(gate, HEAP_GATE_LOSSES, pair[1])) {
        (void)syscall(SYS_close, pair[1]); /* so that the end of the server ends the waiting */
        pair[1] = -1;
        fd = receive_descriptor(pair[0]);
    }
    (void)syscall(SYS_close, pair[0]);
    if (pair[1] >= 0)
        (void)syscall(SYS_close, pair[1]);
    return fd;
}

/* ---- The sockets in the folder ---- */

/* Where many start at once the queue of the server may be full for a moment.  */
static bool connect_patiently(int fd, const struct sockaddr_un *address)
{
    for (int waited_ms = 0; waited_ms < SHIM_PATIENCE_MS; waited_ms++) {
        if (syscall(SYS_connect, fd, address, sizeof *address) == 0)
            return true;
        if (errno != EAGAIN && errno != EINTR)
            return false;
        wait_a_moment();
    }
    return false;
}

static bool is_folder_trusted(void)
{
    int folder = open_folder(), error = errno;

    if (folder >= 0)
        (void)syscall(SYS_close, folder);
    return folder >= 0 || error == EMFILE; /* then the last descriptor is for the socket */
}

/* Connect to a socket of the folder.  */
static bool connect_in_folder(int fd, const char *name)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    size_t length = strlen(shim_settings.folder);

    memcpy(address.sun_path, shim_settings.folder, length);
    address.sun_path[length] = '/';
    memcpy(address.sun_path + length + 1, name, strlen(name) + 1);
    return connect_patiently(fd, &address) && is_trusted_server(fd);
}

static int new_socket(void)
{
    return is_folder_trusted()
               ? (int)syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
               : -1;
}

static int fetch_losses_in_folder(void)
{
    int from = new_socket(), fd;

    if (from < 0)
        return -1;
    fd = connect_in_folder(from, HEAP_LOSSES_NAME) ? receive_descriptor(from) : -1;
    (void)syscall(SYS_close, from);
    return fd;
}

/* ---- The file of losses ---- */

/* NULL if it is none, or of another capture, or anyone could cut it.  */
static struct heap_loss_file *map_losses(int fd)
{
    struct heap_loss_file *file = MAP_FAILED;
    struct stat status;

    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size >= (off_t)sizeof *file && (fcntl(fd, F_GET_SEALS) & F_SEAL_SHRINK))
        file = mmap(NULL, sizeof *file, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (file == MAP_FAILED)
        return NULL;
    if (memcmp(file->key, shim_settings.key, sizeof file->key) == 0)
        return file;
    (void)munmap(file, sizeof *file);
    return NULL;
}

struct heap_loss_file *shim_map_losses(void)
{
    int fd = shim_inherited_losses();
    struct heap_loss_file *file = fd >= 0 ? map_losses(fd) : NULL;

    if (file)
        return file;
    fd = fetch_losses_through_gate();
    if (fd < 0)
        fd = fetch_losses_in_folder();
    if (fd < 0)
        return NULL;
    file = map_losses(fd);
    (void)syscall(SYS_close, fd);
    return file;
}

/* ---- Connecting ---- */

static void prepare(int fd)
{
    int size = SEND_BUFFER;

    take_losses(fd); /* before, so that the server finds them when it has the connection */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

static int give_up(int fd)
{
    (void)syscall(SYS_close, fd);
    give_losses();
    return -1;
}

static int connect_through_gate(void)
{
    int gate = shim_gate(), pair[2];
    bool is_sent;

    if (gate < 0 || syscall(SYS_socketpair, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
                            0, pair) != 0)
        return -1;
    prepare(pair[0]);
    is_sent = send_through_gate(gate, HEAP_GATE_CONNECTION, pair[1]);
    (void)syscall(SYS_close, pair[1]);
    return is_sent ? pair[0] : give_up(pair[0]);
}

static int connect_by_folder(void)
{
    int fd = new_socket();

    if (fd < 0)
        return -1;
    prepare(fd);
    return connect_in_folder(fd, HEAP_SOCKET_NAME) ? fd : give_up(fd);
}

bool shim_connect(void)
{
    struct stat status;
    int limit = descriptor_limit(), fd = -1;

    if (limit && !shim_is_over()) {
        fd = connect_through_gate();
        if (fd < 0)
            fd = connect_by_folder();
    }
    if (fd < 0)
        return false;
    fd = move_up(fd, limit);
    if (fstat(fd, &status) != 0) { /* another thread has closed it */
        shim_process->losses = NULL;
        return false;
    }
    shim_process->fd = fd;
    shim_process->pid = getpid();
    shim_process->fd_device = status.st_dev;
    shim_process->fd_inode = status.st_ino;
    parents.fd = fd;
    parents.device = status.st_dev;
    parents.inode = status.st_ino;
    return true;
}

/* ---- Sending ---- */

static uint64_t now_ns(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Room in the socket, before the deadline; 0: none is set yet.  */
static bool wait_for_room(uint64_t *deadline_ns)
{
    struct pollfd wanted = { .fd = shim_process->fd, .events = POLLOUT };
    uint64_t start_ns = now_ns();
    struct timespec left = { 0, 0 };

    if (atomic_load(&shim_process->impatient))
        return false;
    if (*deadline_ns == 0) {
        *deadline_ns = start_ns + SHIM_PATIENCE_MS * UINT64_C(1000000);
        shim_count(&shim_losses()->waits);
    }
    if (start_ns < *deadline_ns) {
        left.tv_nsec = (long)(*deadline_ns - start_ns); /* less than a second */
        if (syscall(SYS_ppoll, &wanted, 1, &left, NULL, 0) > 0)
            return true;
    }
    atomic_store(&shim_process->impatient, true);
    return false;
}

/* After vfork(2) all is the parent's but the descriptors, which it goes on with.  */
static enum shim_sent why_closed(void)
{
    if (atomic_load(&shim_process->ended))
        return SHIM_GONE;
    return shim_process->fd < 0 || getpid() == shim_process->pid ? SHIM_CLOSED : SHIM_AWAY;
}

/* Not send(2), which is a point where a thread can be cancelled, as malloc(3) is not.  */
enum shim_sent shim_send(const uint8_t *message, size_t length)
{
    uint64_t deadline_ns = 0;

    for (;;) {
        if (!shim_is_open())
            return why_closed();
        if (syscall(SYS_sendto, shim_process->fd, message, length, MSG_DONTWAIT | MSG_NOSIGNAL,
                    NULL, 0) >= 0) {
            atomic_store_explicit(&shim_process->impatient, false, memory_order_relaxed);
            return SHIM_SENT;
        }
        if (errno == EAGAIN) {
            if (wait_for_room(&deadline_ns))
                continue;
            return SHIM_DROPPED;
        }
        if (errno == EINTR || errno == ENOBUFS || errno == ENOMEM)
            return SHIM_DROPPED;
        atomic_store(&shim_process->ended, true); /* before, for those who find it closed */
        close_own();
        return SHIM_GONE;
    }
}
