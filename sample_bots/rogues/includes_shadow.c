/* Lets the compiler quote files of others. Verdict: refused at the build; the compiler's output contains nothing of them. */
#include "/etc/shadow"
#include "/etc/passwd"
#include "/proc/1/environ"
#include "/root/.bashrc"
