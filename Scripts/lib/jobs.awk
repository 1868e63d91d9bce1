# Reads the answers to `JOB 1`, `JOB 2`, … (names and values in turns, a line each) and proves that
# every job ran once and that every thread kept the order. Prints a line per thread, and what is
# wrong as lines that begin with "fault:". `count` says how many jobs there should be.

NR % 2 == 1 { key = $0; next }
key == "id" { endJob(); id = $0 }
{ job[key] = $0 }

END {
    endJob()
    if (seen != count) fault(seen " of " count " jobs are known")
    for (i = 1; i <= workerCount; i++) {
        worker = workers[i]
        printf "%-10s %6d jobs, busy %.1f s\n", worker, ran[worker], busy[worker] / 1000
    }
}

function endJob(    worker) {
    if (id == "") return
    seen++
    if (id != seen) fault("job " seen " answers as job " id)
    if (job["state"] != "done") fault("job " id " is " job["state"] ": " job["failure"])
    if (job["attempt"] != 1) fault("job " id " was run " job["attempt"] " times")
    worker = job["worker"]
    if (!(worker in ran)) workers[++workerCount] = worker
    # Job numbers grow from answer to answer, so a thread that keeps the order begins each job no
    # sooner than it ended the one before.
    if (job["started-at"] < end[worker])
        fault("job " id " began on " worker " before the one in front of it had ended")
    end[worker] = job["ended-at"]
    busy[worker] += job["ended-at"] - job["started-at"]
    ran[worker]++
    split("", job)
}

function fault(what) { print "fault: " what }
