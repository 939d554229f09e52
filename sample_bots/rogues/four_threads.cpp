// Computes with four threads at once. Verdict: cpu, in less than its wall time.
#include <thread>
#include <vector>

int main()
{
    std::vector<std::thread> threads;
    for (int n = 0; n < 4; n++)
        threads.emplace_back([] { for (volatile unsigned long n = 0;; n = n + 1) {} });
    for (auto &thread : threads) thread.join();
}
