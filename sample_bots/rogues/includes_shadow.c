/* Lets the compiler quote other people's files. Verdict: refused at the build; its words have nothing of them. */
#include "/etc/shadow"
#include "/etc/passwd"
#include "/proc/1/environ"
#include "/root/.bashrc"
