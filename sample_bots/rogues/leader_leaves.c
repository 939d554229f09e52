/* Its first thread ends, others compute on: what is left has no leader to look at. Verdict: cpu. */
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
