<?php
// phpredis. It never sends DISCARD: after a transaction the connection has to be usable as it is.

function check(string $step, bool $condition, $seen = null): void {
    if (!$condition) {
        fwrite(STDERR, "$step: unexpected " . var_export($seen, true) . "\n");
        exit(1);
    }
    echo "$step\n";
}

$client = new Redis();
check('RESP 2: connect', $client->connect(getenv('WORKERD_SOCKET')));
check('PING', $client->ping('hello') === 'hello');
check('INFO', $client->info('replication')['role'] === 'master');
$clients = $client->client('LIST');
check('CLIENT LIST', $clients[0]['user'] === 'default', $clients);

$number = $client->rawCommand('PERFORM', 'images', 'echo', 'hello');
check('PERFORM', is_int($number), $number);
$result = $client->rawCommand('PERFORM', 'images', 'echo', 'WAIT', 'hello');
check('PERFORM WAIT', $result === 'hello', $result);
$job = $client->rawCommand('JOB', "$number");
check('JOB', in_array('done', $job, true), $job);
check('JOBS', count($client->rawCommand('JOBS', 'images', 'LIMIT', '1')) === 1);
$binary = implode('', array_map('chr', range(0, 255)));
$number = $client->rawCommand('PERFORM', 'images', 'echo', $binary);
check('binary RESULT', $client->rawCommand('RESULT', "$number", 'WAIT') === $binary);

$client->pipeline();
for ($job = 0; $job < 100; $job++) {
    $client->rawCommand('PERFORM', 'images', 'echo', 'WAIT', "$job");
}
$replies = $client->exec();
check('pipeline', $replies === array_map('strval', range(0, 99)), $replies);

$accepted = $client->info('jobs')['total_jobs_accepted'];
// Before version 6, phpredis looks at no error of EXEC and reads on until its time is up, then throws.
$client->setOption(Redis::OPT_READ_TIMEOUT, 1);
$client->multi();
$client->rawCommand('PERFORM', 'images', 'echo', 'never');
try {
    $seen = $client->exec();
} catch (RedisException $error) {
    $seen = false;
}
$client->setOption(Redis::OPT_READ_TIMEOUT, 20);
check('refused transaction', $seen === false, $seen);
check('nothing executed', $client->info('jobs')['total_jobs_accepted'] === $accepted);
$result = $client->rawCommand('PERFORM', 'images', 'echo', 'WAIT', 'again');
check('PERFORM after it', $result === 'again', $result);
