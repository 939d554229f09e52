// Hits and stands at once. Verdict: extra.
#include <iostream>

int main()
{
    std::cout << "H\nS\n";
}
