/* Computes for ever. Verdict: cpu, long before its time is up. */
int main(void)
{
    for (volatile unsigned long n = 0;; n++) {}
}
