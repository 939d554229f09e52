/* Its first thread ends while others keep computing, so the process has no leader to measure. Verdict: cpu. */
#include <pthread.h>
#include <stdio.h>

static void *computes(void *nothing)
{
    for (volatile unsigned n = 0;; n++) {}
    return nothing;
}

int main(void)
{
    pthread_t threads[3];
    for (int n = 0; n < 3; n++) pthread_create(threads + n, NULL, computes, NULL);
    pthread_exit(NULL);
}
