/* Makes the compiler write a program of 1.5 GB. Verdict: refused at the build. */
static char big[1500000000] = {1};

int main(void)
{
    return big[7];
}
