/* A program to record: two threads, a child that runs the program again, a large stack, faults.  */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone))

static volatile unsigned long sink;

OWN static void inner(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        sink += (unsigned long)(i * i);
}

OWN static void left(unsigned count)
{
    inner(count);
    sink++;
}

OWN static void right(unsigned count)
{
    inner(count / 2);
    for (unsigned i = 0; i < count; i++)
        sink ^= i;
    sink++;
}

OWN static void deep(unsigned depth, unsigned count)
{
    if (depth > 0)
        deep(depth - 1, count);
    else
        left(count);
    sink++;
}

OWN static void touch(size_t size)
{
    char *bytes = malloc(size);

    for (size_t i = 0; bytes && i < size; i += 4096)
        bytes[i] = (char)sink;
    free(bytes);
    sink++;
}

OWN static void *on_thread(void *unused)
{
    for (unsigned i = 0; i < 4000; i++)
        right(20000);
    return unused;
}

OWN static void in_child(void)
{
    for (unsigned i = 0; i < 4000; i++)
        left(20000);
    sink++;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    pid_t child;

    if (argc > 1 && strcmp(argv[1], "child") == 0) {
        in_child();
        return 0;
    }
    child = fork();
    if (child == 0)
        execl(argv[0], argv[0], "child", (char *)NULL);
    if (pthread_create(&thread, NULL, on_thread, NULL) != 0)
        return 1;
    for (unsigned i = 0; i < 2000; i++)
        deep(6, 20000);
    touch((size_t)1 << 23);
    pthread_join(thread, NULL);
    waitpid(child, NULL, 0);
    return 0;
}
