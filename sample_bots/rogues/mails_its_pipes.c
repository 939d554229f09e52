/* Sends its output and a socket through that same socket, so that both stay open in an undelivered message after every
 * process has ended. Verdict: harmless; croupier does not wait for the end of that output. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(void)
{
    for (int letter = 0; letter < 8; letter++) {
        int pair[2];
        char byte = 0;
        if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair)) break;
        union { struct cmsghdr head; char room[CMSG_SPACE(4 * sizeof(int))]; } sent = {0};
        struct iovec text = {&byte, 1};
        struct msghdr message = {.msg_iov = &text, .msg_iovlen = 1, .msg_control = &sent, .msg_controllen = sizeof sent};
        sent.head.cmsg_level = SOL_SOCKET, sent.head.cmsg_type = SCM_RIGHTS, sent.head.cmsg_len = CMSG_LEN(4 * sizeof(int));
        memcpy(CMSG_DATA(&sent.head), (int[]){1, 2, pair[0], pair[1]}, 4 * sizeof(int));
        sendmsg(pair[0], &message, 0);
    }
    puts("S");
    return 0;
}
