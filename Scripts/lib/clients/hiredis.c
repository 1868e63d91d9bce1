// hiredis, the C client on which many others are built.
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static redisContext *context;

static void check(const char *step, int condition) {
    if (!condition) {
        fprintf(stderr, "%s: unexpected reply; %s\n", step, context->errstr);
        exit(1);
    }
    puts(step);
    fflush(stdout);
}

static redisReply *call(int count, const char **words, const size_t *lengths) {
    redisReply *reply = redisCommandArgv(context, count, words, lengths);
    if (!reply) check(words[0], 0);
    return reply;
}

static int is_text(const redisReply *reply, const char *text) {
    return (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS)
        && reply->len == strlen(text) && !memcmp(reply->str, text, reply->len);
}

#define CALL(...) call(sizeof((const char *[]) {__VA_ARGS__}) / sizeof(char *), \
                       (const char *[]) {__VA_ARGS__}, NULL)

int main(void) {
    struct timeval patience = {20, 0};
    context = redisConnectUnixWithTimeout(getenv("WORKERD_SOCKET"), patience);
    check("RESP 2: connect", context && !context->err);
    redisSetTimeout(context, patience);
    check("PING", is_text(CALL("PING"), "PONG"));
    redisReply *reply = CALL("CLIENT", "INFO");
    check("CLIENT INFO", reply->type == REDIS_REPLY_STRING && strstr(reply->str, " lib-name="));

    reply = CALL("PERFORM", "images", "echo", "hello");
    check("PERFORM", reply->type == REDIS_REPLY_INTEGER && reply->integer > 0);
    check("PERFORM WAIT", is_text(CALL("PERFORM", "images", "echo", "WAIT", "hello"), "hello"));
    char number[32];
    snprintf(number, sizeof number, "%lld", reply->integer);
    reply = CALL("JOB", number);
    check("JOB", reply->type == REDIS_REPLY_ARRAY && is_text(reply->element[0], "id"));
    reply = CALL("JOBS", "images", "LIMIT", "1");
    check("JOBS", reply->type == REDIS_REPLY_ARRAY && reply->elements == 1);

    char binary[256];
    for (int byte = 0; byte < 256; byte++) binary[byte] = (char) byte;
    const char *words[] = {"PERFORM", "images", "echo", binary};
    const size_t lengths[] = {7, 6, 4, sizeof binary};
    reply = call(4, words, lengths);
    snprintf(number, sizeof number, "%lld", reply->integer);
    reply = CALL("RESULT", number, "WAIT");
    check("binary RESULT", reply->len == sizeof binary && !memcmp(reply->str, binary, reply->len));

    for (int job = 0; job < 100; job++)
        redisAppendCommand(context, "PERFORM images echo WAIT %d", job);
    for (int job = 0; job < 100; job++) {
        snprintf(number, sizeof number, "%d", job);
        if (redisGetReply(context, (void **) &reply) != REDIS_OK || !is_text(reply, number))
            check("pipeline", 0);
        freeReplyObject(reply);
    }
    check("pipeline", 1);

    check("MULTI", is_text(CALL("MULTI"), "OK"));
    check("QUEUED", is_text(CALL("PERFORM", "images", "echo", "never"), "QUEUED"));
    reply = CALL("EXEC");
    check("refused transaction",
        reply->type == REDIS_REPLY_ERROR && !strncmp(reply->str, "EXECABORT", 9));
    check("PING after it", is_text(CALL("PING"), "PONG"));
    redisFree(context);
    return 0;
}
