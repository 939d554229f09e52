/* Makes the compiler print ten thousand messages. Verdict: refused at the build; thirty lines are shown. */
#define TEN(x) x x x x x x x x x x
#define MANY(x) TEN(TEN(TEN(TEN(x))))
int main(void)
{
    MANY(nobody_knows(this_name "\033[2J");)
}
