/* Answers, closes all it has and lives on. Verdict: harmless; it lives for 50 ms more. */
#include <unistd.h>

int main(void)
{
    int wrote = write(1, "S\n", 2) == 2;
    close(0), close(1), close(2);
    while (wrote) pause();
    return 1;
}
