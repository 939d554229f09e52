/* Makes the compiler produce a program of 1.5 GB. Verdict: refused at the build. */
char big[1500000000] = {1};

int main(int words, char **arguments)
{
    return big[words + (arguments[0] != 0)];
}
