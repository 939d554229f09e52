/* Answers, closes all its descriptors and keeps running. Verdict: harmless; it is killed after 50 ms. */
#include <unistd.h>

int main(void)
{
    int wrote = write(1, "S\n", 2) == 2;
    close(0), close(1), close(2);
    while (wrote) pause();
    return 1;
}
