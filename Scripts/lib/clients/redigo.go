// redigo.
package main

import (
	"bytes"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"
)

func check(step string, condition bool, seen ...interface{}) {
	if !condition {
		log.Fatal(step, ": unexpected ", seen)
	}
	fmt.Println(step)
}

func main() {
	log.SetFlags(0)
	client, err := redis.Dial("unix", os.Getenv("WORKERD_SOCKET"))
	check("RESP 2: connect", err == nil, err)
	text, err := redis.String(client.Do("PING"))
	check("PING", text == "PONG", err)
	text, err = redis.String(client.Do("CLIENT", "INFO"))
	check("CLIENT INFO", strings.Contains(text, " lib-name="), text, err)

	number, err := redis.Int(client.Do("PERFORM", "images", "echo", "hello"))
	check("PERFORM", err == nil, err)
	text, err = redis.String(client.Do("PERFORM", "images", "echo", "WAIT", "hello"))
	check("PERFORM WAIT", text == "hello", text, err)
	job, err := redis.Values(client.Do("JOB", number))
	check("JOB", err == nil && string(job[7].([]byte)) == "done", job, err)
	jobs, err := redis.Values(client.Do("JOBS", "images", "LIMIT", 1))
	check("JOBS", len(jobs) == 1, err)
	binary := make([]byte, 256)
	for index := range binary {
		binary[index] = byte(index)
	}
	number, _ = redis.Int(client.Do("PERFORM", "images", "echo", binary))
	result, err := redis.Bytes(client.Do("RESULT", number, "WAIT"))
	check("binary RESULT", bytes.Equal(result, binary), err)

	for job := 0; job < 100; job++ {
		client.Send("PERFORM", "images", "echo", "WAIT", job)
	}
	client.Flush()
	for job := 0; job < 100; job++ {
		text, err = redis.String(client.Receive())
		if text != strconv.Itoa(job) {
			check("pipeline", false, text, err)
		}
	}
	check("pipeline", true)

	client.Send("MULTI")
	client.Send("PERFORM", "images", "echo", "never")
	_, err = client.Do("EXEC")
	check("refused transaction", err != nil && strings.HasPrefix(err.Error(), "EXECABORT"), err)
	text, err = redis.String(client.Do("PING"))
	check("PING after it", text == "PONG", err)
}
