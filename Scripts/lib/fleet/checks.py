"""The promises of a fleet, checked against the ledger of the programs and the database's rows."""

from bisect import bisect_left, bisect_right
from collections import defaultdict

from nodes import RESULTS_MAX

# The clock of the ledger has steps of 10 ms.
STEP = 0.02
# The threads that run programs; each may be about to begin one when its node is stopped.
THREADS = 5


class Run:
    """A run of a job: one beginning in the ledger, and the lines that followed."""

    def __init__(self, place, words):
        self.job, self.attempt, self.token = int(words[1]), int(words[2]), words[3]
        self.process, self.node = int(words[4]), words[5]
        self.begun_at = float(words[6])
        # Places in the ledger, which has the lines of all nodes in their order.
        self.first = self.last = place
        # "end", "fail", or None: then it was killed, or its node was.
        self.end = None


class Row:
    """An ended job, as the database has it."""

    def __init__(self, words):
        self.job, self.thread, self.selector, self.outcome = (
            int(words[0]), words[1], words[2], words[3])
        self.attempt = int(words[4])
        self.due_at = int(words[5]) if words[5] else None
        self.result, self.is_named, self.at = words[6], words[7] == "t", float(words[8])


def read_ledger(path):
    """The runs in the order of their beginnings, and lines that make no sense."""
    runs, by_key, faults = [], {}, []
    with open(path) as file:
        for place, line in enumerate(file):
            words = line.split()
            if len(words) != 7:
                faults.append("a line of the ledger: %s" % line)
                continue
            key = tuple(words[1:5])
            if words[0] == "begin":
                if key in by_key:
                    faults.append("attempt %s of job %s began twice" % (words[2], words[1]))
                by_key[key] = Run(place, words)
                runs.append(by_key[key])
            elif key in by_key:
                run = by_key[key]
                run.last = place
                if words[0] in ("end", "fail"):
                    run.end = words[0]
    return runs, faults


def read_rows(server):
    rows = [Row(words) for words in server.sql(
        "SELECT id, split_part(thread, '#', 1), selector, (ARRAY['done', 'failed', 'timed out', 'cancelled',"
        " 'expired'])[outcome], attempt, due_at, replace(encode(coalesce(result, ''), 'escape'), E'\\n', ' '),"
        " is_named, at FROM public.ended_jobs ORDER BY id")]
    return rows, server.sql("SELECT id, thread, selector, held, attempt FROM workerd.jobs")


class Checks:
    """The promises that hold at the end of a run."""

    def __init__(self, book, runs, rows, left, stops, disturbed, probes):
        self.book, self.runs, self.left, self.stops = book, runs, left, stops
        self.disturbed = disturbed
        self.probes = probes
        self.rows = {row.job: row for row in rows}
        self.faults, self.counts = [], defaultdict(int)
        if len(self.rows) < len(rows):
            self.fault("%d jobs have ended twice" % (len(rows) - len(self.rows)))
        self.runs_of = defaultdict(list)
        for run in runs:
            self.runs_of[run.job].append(run)
        self.jobs_of = defaultdict(set)
        for run in runs:
            self.jobs_of[run.token].add(run.job)
        for row in rows:
            if row.outcome == "done" and row.thread not in ("clock", "probe"):
                self.jobs_of[row.result.split()[0]].add(row.job)
        for order in book.orders.values():
            self.jobs_of[order.token] |= order.numbers

    def fault(self, text):
        self.faults.append(text)

    def all(self):
        if len(self.rows) == 0:
            self.fault("the database has no ended job")
        self.check_ends()
        self.check_tokens()
        self.check_attempts()
        self.check_recorded()
        self.check_order()
        self.check_schedules()
        self.check_cancelled()
        self.check_told()
        self.check_forgotten()
        self.count_overlaps()
        return self.faults

    def check_ends(self):
        """No accepted job is lost, and each has ended once."""
        for words in self.left:
            self.fault("job %s has not ended: %s" % (words[0], words))
        for order in self.book.orders.values():
            for job in order.numbers:
                row = self.rows.get(job)
                if row is None:
                    self.fault("job %d (%s) is lost" % (job, order.token))
                elif row.outcome != "done" and (
                        row.outcome != "cancelled" or not order.may_be_cancelled):
                    self.fault("job %d (%s) is %s: %s" % (
                        job, order.token, row.outcome, row.result))
                elif row.outcome == "done" and row.result.split()[0] != order.token:
                    self.fault("job %d (%s) has the result %s" % (job, order.token, row.result))
        for job in self.probes - self.rows.keys():
            self.fault("job %d (a probe) is lost" % job)
        self.counts["jobs ended"] = len(self.rows)

    def check_tokens(self):
        """Each submit is one job at most; one that was not committed is none."""
        for token, jobs in self.jobs_of.items():
            order = self.book.orders.get(token)
            if order is None:
                self.fault("%s was never handed in, and is %s" % (token, sorted(jobs)))
            elif len(jobs) > 1:
                self.fault("%s is more than one job: %s" % (token, sorted(jobs)))
            elif jobs and order.is_committed is False:
                self.fault("%s was rolled back, and is job %s" % (token, sorted(jobs)))
        for order in self.book.orders.values():
            jobs = self.jobs_of[order.token]
            if order.is_committed and not jobs:
                self.fault("%s was committed by SQL, and is lost" % order.token)
            # A node that was killed before it could drop such a job leaves it to the next one.
            is_accepted = order.numbers or order.is_answered
            if jobs and order.is_refused and not order.is_unknown and not is_accepted:
                self.counts["jobs refused that ran"] += 1
            if order.is_unknown and not is_accepted:
                self.counts["submits without an answer"] += 1
                self.counts["of which accepted"] += bool(jobs)

    def stop_of(self, run):
        """The stop of its node during which a run began, or behind which; None if there is none."""
        return next((stop for stop in self.stops.get(run.node, []) if (
            stop[0] - STEP <= run.begun_at <= stop[1] + 1)), None)

    def is_late(self, run, earlier):
        """Whether a run began in a node that had been stopped and had lost its seat."""
        return run.attempt < earlier.attempt and self.stop_of(run) is not None

    def is_late_delivery(self, run, earlier):
        """Whether a worker got a job so late as the network held up the answer to its TAKE.

        The network sends it again after a cut, also if the node has ended meanwhile. The longer the
        cut, the longer the pause before: at most as long as the cut.
        """
        return run.node == "worker" and run.attempt < earlier.attempt and any(
            begin < earlier.begun_at and run.begun_at <= end + (end - begin) + 1
            for begin, end in self.disturbed)

    def check_attempts(self):
        """A second run is told that it is one."""
        late = defaultdict(int)
        for job, runs in self.runs_of.items():
            self.counts["runs"] += len(runs)
            self.counts["second runs"] += len(runs) - 1
            for earlier, run in zip(runs, runs[1:]):
                if run.attempt > earlier.attempt:
                    continue
                if self.is_late_delivery(run, earlier):
                    self.counts["jobs that a worker got behind a cut"] += 1
                elif self.is_late(run, earlier):
                    self.counts["late beginnings in a stopped node"] += 1
                    late[run.node, self.stop_of(run)[0]] += 1
                else:
                    self.fault("job %d began as attempt %d in %s, after attempt %d in %s" % (
                        job, run.attempt, run.node, earlier.attempt, earlier.node))

        for (node, _), count in late.items():
            if count > THREADS:
                self.fault("%d jobs began in %s after it was stopped and had lost its seat" % (
                    count, node))

    def recorded(self, row):
        """The run whose end the database has; None if there is none."""
        words = row.result.split()
        if row.outcome != "done" or row.selector == "echo" or len(words) != 3:
            return None
        return next((run for run in self.runs_of[row.job] if (
            run.attempt, run.process) == (int(words[1]), int(words[2]))), None)

    def check_recorded(self):
        """The recorded end is that of the last run, and recorded runs do not overlap."""
        by_group = defaultdict(list)
        for row in self.rows.values():
            if row.outcome != "done" or row.selector == "echo":
                continue
            run = self.recorded(row)
            if run is None or run.end != "end":
                self.fault("job %d is done (%s), and no such run has ended" % (
                    row.job, row.result))
                continue
            if run.attempt != row.attempt:
                self.fault("job %d is done by attempt %d, and attempt %d is recorded" % (
                    row.job, run.attempt, row.attempt))
            latest = max(self.runs_of[row.job], key=lambda run: run.attempt)
            if latest is not run:
                self.fault("job %d is done by attempt %d in %s, and attempt %d began in %s" % (
                    row.job, run.attempt, run.node, latest.attempt, latest.node))
            order = self.book.orders.get(run.token)
            if order is None:
                continue
            if row.thread != "pool":
                by_group[row.thread].append(run)
            elif order.key:
                by_group["pool, key " + order.key].append(run)
        for group, runs in by_group.items():
            runs.sort(key=lambda run: run.first)
            for run, following in zip(runs, runs[1:]):
                if following.first < run.last:
                    self.fault("%s: job %d in %s began during job %d in %s, both recorded" % (
                        group, following.job, following.node, run.job, run.node))

    def check_order(self):
        """Jobs of a thread or key, and of one priority, begin in the order of their numbers."""
        firsts, recorded = defaultdict(list), defaultdict(list)
        for job, runs in self.runs_of.items():
            order = self.book.orders.get(runs[0].token)
            if order is None or not order.is_plain or order.group is None:
                continue
            firsts[order.group].append((runs[0].first, job))
            row = self.rows.get(job)
            run = row and self.recorded(row)
            if run:
                recorded[order.group].append((run.first, job))
        for what, groups in ("first", firsts), ("recorded", recorded):
            for group, begun in groups.items():
                begun.sort()
                for (_, job), (_, following) in zip(begun, begun[1:]):
                    if following < job:
                        self.fault("%s: the %s run of job %d came before that of job %d" % (
                            group, what, job, following))

    def check_schedules(self):
        """Each moment has one job at most; with MISSED all, each has one."""
        moments = defaultdict(list)
        for row in self.rows.values():
            if row.thread == "clock":
                moments[row.result].append(row.due_at)
        for name, due in moments.items():
            due.sort()
            for moment, following in zip(due, due[1:]):
                if moment == following:
                    self.fault("schedule %s has two jobs for %d" % (name, moment))
                elif name == "tick" and following - moment != 250:
                    self.fault("schedule %s has no job between %d and %d" % (
                        name, moment, following))
            self.counts["moments of schedules"] += len(due)
        if len(moments) != 2:
            self.fault("not all schedules made jobs: %s" % sorted(moments))

    def check_cancelled(self):
        """A cancelled job never begins; one that was asked to end does not run again."""
        for order in self.book.orders.values():
            for job in order.numbers:
                runs = self.runs_of.get(job, [])
                early = runs and order.sent_at + order.delay / 1000 - runs[0].begun_at
                if order.delay and runs and early > STEP:
                    self.fault("job %d began in %s %.2f s before its time, %.2f s after %s" % (
                        job, runs[0].node, early, runs[0].begun_at - order.sent_at, order.token))
                if order.cancelled is None:
                    continue
                self.counts["jobs cancelled"] += 1
                outcome = self.rows[job].outcome if job in self.rows else None
                if order.cancelled == "cancelled" and outcome != "cancelled":
                    self.fault("job %d was cancelled, and is %s" % (job, outcome))
                late = [
                    run for place, run in enumerate(runs)
                    if run.begun_at > order.cancelled_at + STEP
                    and not (place and self.is_late(run, runs[place - 1]))]
                # The answer to CANCEL may reach its client before a worker has that to its TAKE.
                if order.cancelled == "requested" and late and late[0].node == "worker":
                    late = late[1:]
                for run in late:
                    self.fault("job %d began in %s after CANCEL said %s" % (
                        job, run.node, order.cancelled))

    def check_told(self):
        """An end that a worker was told is kept counts; a result may be that of an earlier run."""
        for what, told in (("results told", self.book.told_results),
                           ("ends told to workers", self.book.told_ends)):
            for token, attempt in told:
                self.counts[what] += 1
                for job in self.jobs_of[token]:
                    row = self.rows.get(job)
                    if row is None or row.attempt == attempt:
                        continue
                    if told is self.book.told_results:
                        self.counts["of which another run has replaced"] += 1
                    else:
                        self.fault("DONE of attempt %d of job %d was OK, and attempt %d is %s" % (
                            attempt, job, row.attempt, row.outcome))

    def check_forgotten(self):
        """Clients get NOJOB only of jobs behind which enough others have ended."""
        ends = sorted(row.at for row in self.rows.values() if not row.is_named)
        for job, order, said_at in self.book.told_unknown:
            self.counts["jobs asked for too late"] += 1
            row = self.rows.get(job)
            if row is None or row.at > said_at:
                self.fault("a client got NOJOB of job %d (%s), which had not ended" % (
                    job, order.token))
            elif row.is_named:
                self.fault("a client got NOJOB of job %d, which has the name %s" % (
                    job, order.token))
            else:
                later = bisect_left(ends, said_at) - bisect_right(ends, row.at)
                if later < RESULTS_MAX:
                    self.fault("a client got NOJOB of job %d (%s) when %d others had ended since" % (
                        job, order.token, later))

    def count_overlaps(self):
        """Counts programs of one job, or of one thread, that lived at the same time."""
        for runs in self.runs_of.values():
            for run, following in zip(runs, runs[1:]):
                self.counts["overlaps in the world: of one job"] += following.first < run.last
        by_thread = defaultdict(list)
        for run in self.runs:
            order = self.book.orders.get(run.token)
            if order and order.thread != "pool":
                by_thread[order.thread].append(run)
        for runs in by_thread.values():
            latest = None
            for run in runs:
                if latest and run.first < latest.last and run.job != latest.job:
                    self.counts["of two jobs of one thread"] += 1
                if latest is None or run.last > latest.last:
                    latest = run
