/* threads - four of them, that wait for each other.  */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn, total;

__attribute__((noinline)) static int work(int n)
{
    int sum = 0;

    for (int i = 0; i < n; i++)
        sum += i ^ n;
    return sum;
}

static void *run(void *context)
{
    int me = *(int *)context;

    for (int round = 0; round < 10; round++) {
        pthread_mutex_lock(&mutex);
        while (turn != me)
            pthread_cond_wait(&changed, &mutex);
        total += work(50) & 1;
        turn = (turn + 1) % 4;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&mutex);
        total += work(100) & 0;
    }
    return NULL;
}

int main(void)
{
    pthread_t threads[4];
    int ids[4];

    for (int i = 0; i < 4; i++) {
        ids[i] = i;
        pthread_create(&threads[i], NULL, run, &ids[i]);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", total);
    return 0;
}
