/* Lets the assembler include a file of others in the program. Verdict: refused; the file does not exist where it is built. */
#include <stdio.h>

__asm__(".data\n.global secret\nsecret: .incbin \"/etc/shadow\"\n.byte 0\n");
extern const char secret[];

int main(void)
{
    fputs(secret, stderr);
    puts("B 666");
    return 0;
}
