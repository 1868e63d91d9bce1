# Redis.pm of Perl.
use strict;
use warnings;
use Redis;

$| = 1;

sub check {
    my ($step, $condition, $seen) = @_;
    die "$step: unexpected ", $seen // 'reply', "\n" unless $condition;
    print "$step\n";
}

my $client = Redis->new(sock => $ENV{WORKERD_SOCKET}, read_timeout => 20);
check('RESP 2: PING', $client->ping);
check('INFO', $client->info->{role} eq 'master');
my $information = $client->client('INFO');
check('CLIENT INFO', $information =~ / lib-name=/, $information);

my $number = $client->perform('images', 'echo', 'hello');
check('PERFORM', $number =~ /^\d+$/, $number);
my $result = $client->perform('images', 'echo', 'WAIT', 'hello');
check('PERFORM WAIT', $result eq 'hello', $result);
my %job = $client->job($number);
check('JOB', $job{state} eq 'done', $job{state});
my @jobs = $client->jobs('images', 'LIMIT', 1);
check('JOBS', @jobs == 1);
my $binary = join '', map { chr } 0 .. 255;
$number = $client->perform('images', 'echo', $binary);
check('binary RESULT', $client->result($number, 'WAIT') eq $binary);

my @seen;
for my $job (0 .. 99) {
    $client->perform('images', 'echo', 'WAIT', $job, sub { push @seen, $_[0] });
}
$client->wait_all_responses;
check('pipeline', "@seen" eq join(' ', 0 .. 99), "@seen");

$client->multi;
$client->perform('images', 'echo', 'never');
eval { $client->exec };
check('refused transaction', $@ =~ /EXECABORT/, $@);
check('PING after it', $client->ping);
