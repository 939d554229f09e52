/* Computes forever. Verdict: cpu, long before its time limit. */
int main(void)
{
    for (volatile unsigned long n = 0;; n++) {}
}
