-- redis-lua.
local redis = require 'redis'

local function check(step, condition, seen)
    if not condition then
        io.stderr:write(step, ': unexpected ', tostring(seen), '\n')
        os.exit(1)
    end
    print(step)
    io.stdout:flush()
end

for _, name in ipairs { 'perform', 'job', 'jobs', 'result' } do
    redis.commands[name] = redis.command(name:upper())
end
local client = redis.connect('unix://' .. os.getenv('WORKERD_SOCKET'))
check('RESP 2: PING', client:ping())
check('INFO', client:info('replication').replication.role == 'master')

local number = client:perform('images', 'echo', 'hello')
check('PERFORM', type(number) == 'number', number)
local result = client:perform('images', 'echo', 'WAIT', 'hello')
check('PERFORM WAIT', result == 'hello', result)
check('JOB', client:job(number)[8] == 'done')
check('JOBS', #client:jobs('images', 'LIMIT', 1) == 1)
local bytes = {}
for byte = 0, 255 do bytes[#bytes + 1] = string.char(byte) end
local binary = table.concat(bytes)
number = client:perform('images', 'echo', binary)
check('binary RESULT', client:result(number, 'WAIT') == binary)

local replies = client:pipeline(function(pipeline)
    for job = 0, 99 do pipeline:perform('images', 'echo', 'WAIT', job) end
end)
check('pipeline', #replies == 100 and replies[100] == '99', replies[100])

local done, failure = pcall(function()
    return client:transaction(function(transaction)
        transaction:perform('images', 'echo', 'never')
    end)
end)
check('refused transaction', not done and tostring(failure):find('EXECABORT'), failure)
check('PING after it', client:ping())
