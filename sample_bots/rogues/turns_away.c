/* Over lines: closes its input and output at once and keeps running. Verdict: exit, after 50 ms and not after its limit. */
#include <unistd.h>

int main(void)
{
    close(0), close(1);
    for (;;) pause();
}
