// The intake of the least servers: how jobs come in, and how they are answered.
#define _GNU_SOURCE
#include "jobintake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char greeting[] = "*1\r\n$4\r\nPING\r\n";
static const char welcome[] = "+PONG\r\n";
static const char answer[] = ":1\r\n";

enum { answers_max = 4096 };

int batch_make(struct batch *batch) {
    *batch = (struct batch){.bytes = malloc(batch_bytes)};
    return batch->bytes ? 0 : -ENOMEM;
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

static int watch(struct intake *intake, int number) {
    struct epoll_event event = {.events = EPOLLIN, .data.fd = number};
    return epoll_ctl(intake->poll, EPOLL_CTL_ADD, number, &event) == 0 ? 0 : -errno;
}

int intake_open(struct intake *intake, const char *socket_path, size_t job_size) {
    *intake = (struct intake){.job_size = job_size};
    intake->answers = malloc(answers_max * (sizeof answer - 1));
    if (!intake->answers) return -ENOMEM;
    for (int index = 0; index < answers_max; index++)
        memcpy(intake->answers + index * (sizeof answer - 1), answer, sizeof answer - 1);
    intake->listener = listen_at(socket_path);
    if (intake->listener < 0) return intake->listener;
    intake->poll = epoll_create1(EPOLL_CLOEXEC);
    return intake->poll < 0 ? -errno : watch(intake, intake->listener);
}

static int accept_one(struct intake *intake) {
    int number = accept4(intake->listener, NULL, NULL, SOCK_CLOEXEC);
    if (number < 0) return -errno;
    if (number >= connections_max) return close(number);
    memset(&intake->connections[number], 0, sizeof intake->connections[number]);
    return watch(intake, number);
}

static void note(struct batch *batch, int number, int job_count) {
    if (job_count > 0 && batch->jobs[number] == 0) batch->senders[batch->sender_count++] = number;
    batch->jobs[number] += job_count;
    batch->job_count += job_count;
}

static int take(struct intake *intake, int number, struct batch *batch) {
    if (number == intake->listener) return accept_one(intake);
    ssize_t count = read(number, batch->bytes + batch->filled, batch_bytes - batch->filled);
    if (count <= 0) return close(number);
    size_t arrived = intake->connections[number].arrived + (size_t)count;
    if (intake->connections[number].is_greeted) {
        batch->filled += (size_t)count;
        note(batch, number, (int)(arrived / intake->job_size));
        arrived %= intake->job_size;
    } else if (arrived >= sizeof greeting - 1) {
        intake->connections[number].is_greeted = 1;
        arrived = 0;
        if (write(number, welcome, sizeof welcome - 1) < 0) return close(number);
    }
    intake->connections[number].arrived = arrived;
    return 0;
}

int intake_wait(struct intake *intake, struct batch *batch, int other) {
    struct epoll_event events[64];
    int count = epoll_wait(intake->poll, events, 64, -1);
    if (count < 0 && errno != EINTR) return -errno;
    int is_other_ready = 0;
    for (int index = 0; index < count; index++) {
        int number = events[index].data.fd;
        int result = number == other ? 0 : take(intake, number, batch);
        if (result != 0) return result;
        if (number == other) is_other_ready = 1;
    }
    return is_other_ready;
}

void intake_answer(struct intake *intake, struct batch *batch) {
    for (int index = 0; index < batch->sender_count; index++) {
        int number = batch->senders[index];
        int count = batch->jobs[number] < answers_max ? batch->jobs[number] : answers_max;
        size_t size = (size_t)count * (sizeof answer - 1);
        // A client that does not read shows that by its results.
        if (write(number, intake->answers, size) < 0) close(number);
        batch->jobs[number] = 0;
    }
    batch->sender_count = batch->job_count = 0;
    batch->filled = 0;
}
