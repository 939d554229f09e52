/* Starts 58 threads that compute and sleep in turns, so that one of them always waits for a processor, while the thread
 * that answers sleeps. It wants a fair clock to deduct the waits. Verdict: timeout, or cpu on a fast machine. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 58, TURN_US = 200, NAP_NS = 20000000 };

static long computed(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * 1000000L + t.tv_nsec / 1000;
}

static void *take_turns(void *nothing)
{
    for (;;) {
        for (long until = computed() + TURN_US; computed() < until;) {}
        nanosleep(&(struct timespec){0, NAP_NS}, NULL);
    }
    return nothing;
}

int main(void)
{
    pthread_t thread;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    for (int n = 0; n < THREADS; n++) pthread_create(&thread, &small, take_turns, NULL);
    for (int n = 0; n < 3; n++) sleep(1);
    puts("S");
    return 0;
}
