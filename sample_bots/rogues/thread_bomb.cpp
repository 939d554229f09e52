// Starts as many threads as it can get. Verdict: harmless; it gets at most 64 tasks.
#include <cstdio>
#include <pthread.h>
#include <unistd.h>

static void *waits(void *) { for (;;) pause(); }

int main()
{
    pthread_t thread;
    int threads = 1;
    while (threads < 1000 && pthread_create(&thread, nullptr, waits, nullptr) == 0) threads++;
    std::fprintf(stderr, "%d threads\n", threads);
    std::puts(threads > 64 ? "B 666" : "S");
    std::fflush(stdout);
    _exit(0);
}
