/* Looks for the files that its Makefile tried to write. */
#include <stdio.h>
#include <unistd.h>

int main(void)
{
    static const char *planted[] = {"/croupier-was-here", "/etc/croupier-was-here", "/usr/bin/croupier-was-here"};
    int found = 0;
    for (int n = 0; n < 3; n++) found += access(planted[n], F_OK) == 0;
    puts(found ? "B 666" : "S");
    return 0;
}
