# The worker in Ruby of Scripts/worker-demo: `demo.rb SOCKET NAME NOTES`.
require "digest"
require "redis"
require "zlib"

$workerd = Redis.new(path: ARGV[0], timeout: 60)
name = ARGV[1]
notes = File.open(ARGV[2], "a")
notes.sync = true

def ask(*command)
  $workerd.call(*command)
rescue Redis::BaseConnectionError
  sleep 0.05
  retry
end

loop do
  job = ask("TAKE", "AS", name, "WAIT", 5000, "FROM", "gzip", "digest")
  next unless job
  id, token, selector, attempt, path = job[0], job[1], job[3], job[4], job[7]
  notes.write("B #{id} #{token} #{attempt} #{Process.clock_gettime(Process::CLOCK_MONOTONIC)}\n")
  content = File.binread(path)
  result = selector == "gzip" ? Zlib.gzip(content, level: 9) : Digest::SHA256.hexdigest(content)
  said = ask("DONE", id, token, result)
  notes.write("K #{id} #{token}\n") if said == "OK"
rescue Redis::CommandError => error
  warn "#{name}: #{error.message}"
  sleep 0.05
end
