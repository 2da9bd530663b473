/* A relay that does nothing but relay: what the others are held against. `floor LISTEN-PORT BACKEND-PORT`, on 127.0.0.1.
 *
 * One thread, epoll, a connection to the backend for each client's. Of a small request and a small answer each is one
 * read and one write; nothing is parsed. What cannot be written at once is waited for: a benchmark's answers are small. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 65536, EVENTS = 256, BUFFER = 65536 };

static int peer[MOST]; /* of each descriptor the one at the other side */

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static struct sockaddr_in at(const char *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static void prepare(int epoll, int fd, int other) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    peer[fd] = other;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event)) fail("epoll_ctl");
}

static void welcome(int epoll, int listener, const struct sockaddr_in *backend) {
    int client = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    int server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0 || client >= MOST || server >= MOST) fail("too many connections");
    if (connect(server, (const struct sockaddr *)backend, sizeof *backend)) fail("the backend");
    prepare(epoll, client, server);
    prepare(epoll, server, client);
}

static int pass(int from, char *buffer) {
    ssize_t length = recv(from, buffer, BUFFER, MSG_DONTWAIT);
    if (length < 0) return errno == EAGAIN || errno == EINTR;
    if (length == 0) return 0;
    for (ssize_t sent = 0; sent < length;) {
        ssize_t count = send(peer[from], buffer + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = peer[from], .events = POLLOUT};
            poll(&room, 1, -1);
        } else if (count < 0) {
            return 0;
        } else {
            sent += count;
        }
    }
    return 1;
}

int main(int count, char **words) {
    static char buffer[BUFFER];
    if (count != 3) return fprintf(stderr, "usage: floor LISTEN-PORT BACKEND-PORT\n"), 2;
    struct sockaddr_in here = at(words[1]), backend = at(words[2]);
    int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), epoll = epoll_create1(EPOLL_CLOEXEC);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (struct sockaddr *)&here, sizeof here) || listen(listener, 4096)) fail("listening");
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS];
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event)) fail("epoll_ctl");
    for (;;) {
        int ready = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            int fd = events[i].data.fd;
            if (fd == listener) {
                welcome(epoll, listener, &backend);
            } else if (peer[fd] && !pass(fd, buffer)) {
                /* Events of this round may still speak of either: a descriptor without a peer is passed over. */
                int other = peer[fd];
                peer[fd] = peer[other] = 0;
                close(fd);
                close(other);
            }
        }
    }
}
