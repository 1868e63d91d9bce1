// The least that a server can do which has what it is sent on the disk before it answers: one thread,
// no parsing, no memory of what came. What is between it and a real server is the real server's own.
#define _GNU_SOURCE
#include "measure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char greeting[] = "*1\r\n$4\r\nPING\r\n";
static const char welcome[] = "+PONG\r\n";
static const char answer[] = ":1\r\n";

enum {
    file_bytes = 8 << 20,
    room_bytes = 1 << 20,
    connections_max = 1024,
    answers_max = 4096,
};

struct connection {
    size_t arrived;      // bytes of a job or greeting that is not complete
    int is_greeted;
    int unanswered;
};

struct server {
    int file;
    off_t offset;
    size_t job_size;
    char *room;          // what came since the last sync
    size_t filled;
    char *answers;
    struct connection connections[connections_max];
};

static int open_prewritten(const char *path, char *bytes) {
    int file = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return -errno;
    memset(bytes, 'w', room_bytes);
    for (off_t offset = 0; offset < file_bytes; offset += room_bytes)
        if (pwrite(file, bytes, room_bytes, offset) != room_bytes) return -EIO;
    return fsync(file) == 0 ? file : -EIO;
}

static int listen_at(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0) return -errno;
    if (bind(listener, (struct sockaddr *)&address, sizeof address) != 0) return -errno;
    return listen(listener, 64) == 0 ? listener : -errno;
}

/// Reads once. Returns less than 0 when the connection has ended.
static int take(struct server *server, int number) {
    struct connection *connection = &server->connections[number];
    ssize_t count =
        read(number, server->room + server->filled, room_bytes - server->filled);
    if (count <= 0) return -1;
    connection->arrived += (size_t)count;
    if (!connection->is_greeted) {
        if (connection->arrived < sizeof greeting - 1) return 0;
        connection->arrived -= sizeof greeting - 1;
        connection->is_greeted = 1;
        return write(number, welcome, sizeof welcome - 1) < 0 ? -1 : 0;
    }
    server->filled += (size_t)count;
    connection->unanswered += (int)(connection->arrived / server->job_size);
    connection->arrived %= server->job_size;
    return 0;
}

static int commit(struct server *server) {
    if (server->filled == 0) return 0;
    if (server->offset + (off_t)server->filled > file_bytes) server->offset = 0;
    if (pwrite(server->file, server->room, server->filled, server->offset) !=
        (ssize_t)server->filled)
        return -EIO;
    server->offset += (off_t)server->filled;
    server->filled = 0;
    return fdatasync(server->file) == 0 ? 0 : -errno;
}

static void respond(struct server *server, int number) {
    struct connection *connection = &server->connections[number];
    int count = connection->unanswered < answers_max ? connection->unanswered : answers_max;
    if (count == 0) return;
    connection->unanswered -= count;
    size_t size = (size_t)count * (sizeof answer - 1);
    if (write(number, server->answers, size) != (ssize_t)size) connection->unanswered = 0;
}

/// Accepts, and lets the server know the connection by its number.
static int greet(struct server *server, int poll, int listener) {
    int number = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (number < 0) return -errno;
    if (number >= connections_max) return close(number);
    server->connections[number] = (struct connection){0};
    struct epoll_event event = {.events = EPOLLIN, .data.fd = number};
    return epoll_ctl(poll, EPOLL_CTL_ADD, number, &event) == 0 ? 0 : -errno;
}

static int serve(struct server *server, int poll, int listener) {
    struct epoll_event events[64];
    while (1) {
        int count = epoll_wait(poll, events, 64, -1);
        if (count < 0 && errno != EINTR) return -errno;
        for (int index = 0; index < count; index++) {
            int number = events[index].data.fd;
            if (number == listener) {
                int result = greet(server, poll, listener);
                if (result != 0) return result;
            } else if (take(server, number) != 0) {
                close(number);
            }
        }
        int result = commit(server);
        if (result != 0) return result;
        for (int index = 0; index < count; index++)
            if (events[index].data.fd != listener) respond(server, events[index].data.fd);
    }
}

int measure_serve_synced(const char *socket_path, const char *file_path, size_t job_size) {
    struct server *server = calloc(1, sizeof *server);
    if (!server || job_size == 0) return -EINVAL;
    server->job_size = job_size;
    server->room = malloc(room_bytes);
    server->answers = malloc(answers_max * (sizeof answer - 1));
    if (!server->room || !server->answers) return -ENOMEM;
    for (int index = 0; index < answers_max; index++)
        memcpy(server->answers + index * (sizeof answer - 1), answer, sizeof answer - 1);
    server->file = open_prewritten(file_path, server->room);
    if (server->file < 0) return server->file;
    int listener = listen_at(socket_path);
    if (listener < 0) return listener;
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event) != 0) return -errno;
    return serve(server, poll, listener);
}
