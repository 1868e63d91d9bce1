# redis-rb.
require "redis"

$stdout.sync = true

def check(step, condition, seen = nil)
  abort "#{step}: unexpected #{seen.inspect}" unless condition
  puts step
end

client = Redis.new(path: ENV.fetch("WORKERD_SOCKET"), timeout: 20)
check("RESP 2: PING", client.ping == "PONG")
check("INFO", client.info["role"] == "master")
check("CLIENT LIST", client.client(:list).first["user"] == "default")

number = client.call("PERFORM", "images", "echo", "hello")
check("PERFORM", number.is_a?(Integer), number)
result = client.call("PERFORM", "images", "echo", "WAIT", "hello")
check("PERFORM WAIT", result == "hello", result)
job = Hash[*client.call("JOB", number)]
check("JOB", job["state"] == "done", job)
check("JOBS", client.call("JOBS", "images", "LIMIT", 1).length == 1)
binary = (0..255).to_a.pack("C*")
number = client.call("PERFORM", "images", "echo", binary)
check("binary RESULT", client.call("RESULT", number, "WAIT").b == binary)

number = client.call("PERFORM", "images", "turn", binary)
taken = client.call("TAKE", "AS", "turner", "WAIT", 15_000, "FROM", "turn")
check("TAKE", taken[0] == number && taken[7].b == binary, taken)
check("DONE", client.call("DONE", number, taken[1], binary.reverse) == "OK")
check("RESULT of a worker", client.call("RESULT", number).b == binary.reverse)

replies = client.pipelined do |pipeline|
  100.times { |job| pipeline.call("PERFORM", "images", "echo", "WAIT", job) }
end
check("pipeline", replies == (0..99).map(&:to_s), replies)

begin
  seen = client.multi { |transaction| transaction.call("PERFORM", "images", "echo", "never") }
rescue Redis::CommandError => error
  seen = error.message
end
check("refused transaction", seen.is_a?(String) && seen.start_with?("EXECABORT"), seen)
check("PING after it", client.ping == "PONG")
