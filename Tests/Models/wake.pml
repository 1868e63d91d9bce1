/* Sleeping and waking: no wake-up is lost, and no late doorbell hides one or keeps the loop turning.
 *
 * Models Sources/Kernel/Polling/SystemPoller.swift with its edges E1 to E4, and the kernel's futex
 * and epoll as futex(2) and epoll(7) tell them; and, as N1, the wake-up in Sources/RunLoops/Loop/
 * ThreadRunLoop+Run.swift that a loop sends itself before it sleeps in a pass that nested a run.
 *
 * Producers publish work and wake the loop. The loop makes passes: it looks for work, then sleeps,
 * or after work takes the wake without sleeping and looks again. Each mode sleeps on the futex or in
 * an epoll instance of its own; all ways of that are tried. Either three producers wake a loop, or
 * two a loop that is run in an inner mode from inside a pass, right before it would sleep. One sleep may end by
 * itself (a timer, a descriptor, a signal): what follows from that is tried at every place.
 *
 * Each statement is one step of one thread, so operations are sequentially consistent, as they are
 * in the code. What weaker orderings would allow is tried by changing the order of statements.
 *
 * Properties
 *   lost   The loop never sleeps while work for its mode waits and nobody is about to wake it.
 *   done   In the end all work has been looked at and the loop sleeps for good. This needs no
 *          fairness: whatever a thread does ends.
 *   And an assertion: a sleep ends for a reason.
 *
 * Mutants, each of which must violate one of these
 *   -DSPLIT_EXCHANGE     E1: the waker loads the word and then stores it.
 *   -DSPLIT_CAS          E1: the loop loads the word and then stores it.
 *   -DBLIND_SLEEP        E1: the loop sleeps whatever the word was.
 *   -DNO_FUTEX_COMPARE   E1: the kernel does not compare the word.
 *   -DLATE_PUBLICATION   E2: the work becomes visible after the wake, as with a relaxed exchange.
 *   -DNO_LOOK_AFTER      E2: the loop sleeps without a look after it has taken a wake.
 *   -DEARLY_LOAD         E3: the waker's load comes before its publication, as if it were relaxed.
 *   -DIGNORED_WORD       E4: the loop takes every doorbell for a late one.
 *   -DCLEARED_DOORBELL   E4: the loop quiets the doorbell before it sleeps.
 *   -DENDED_BY_DOORBELL  E4: a late doorbell ends the sleep.
 *   -DLEVEL_TRIGGERED    E4: the doorbell, never read, is reported again and again.
 *   -DNO_WAKE_AFTER_RUN  N1: the loop sleeps though a run nested in the pass has taken wake-ups.
 */
#define AWAKE   0
#define WOKEN   1
#define PARKED  2
#define POLLING 3

#define OUTER 0
#define INNER 1

byte word = AWAKE;
byte waiting[2];      /* how much work is published for a mode and not yet looked at */
byte waking;          /* how many have published, or want the loop awake, and still have to wake it */
bool polls[2];        /* whether a mode sleeps in epoll */
bool ring[2];         /* whether a mode's epoll instance holds an event of the doorbell */
bool queued;          /* whether the loop is in the kernel's queue for the futex */
bool asleep;          /* whether the loop is in a system call that waits */
byte mode = OUTER;    /* where the loop runs */
byte endings = 1;     /* how many sleeps may still end by themselves */
byte nestings;        /* how often a run may still be nested */

inline publish(target) { d_step { waiting[target]++; waking++ } }

inline wake() {
#ifndef EARLY_LOAD
    d_step { seen = word; if :: seen == WOKEN -> waking-- :: else fi };           /* E3 */
#endif
    if
    :: seen == WOKEN
    :: else ->
#ifdef SPLIT_EXCHANGE
        seen = word;
        d_step { word = WOKEN; if :: seen < PARKED -> waking-- :: else fi };
#else
        d_step { seen = word; word = WOKEN; if :: seen < PARKED -> waking-- :: else fi }; /* E1 E2 */
#endif
        if
        :: seen == PARKED -> d_step { queued = false; waking-- }                  /* FUTEX_WAKE */
        :: seen == POLLING -> d_step { ring[OUTER] = true; ring[INNER] = true; waking-- }
        :: else
        fi
    fi
}

proctype Producer(byte target) {
    byte seen;
#if defined(LATE_PUBLICATION)
    waking = waking + 2;
    wake();
    d_step { waiting[target]++; waking-- }
#elif defined(EARLY_LOAD)
    seen = word;
    d_step { waiting[target]++; if :: seen != WOKEN -> waking++ :: else fi };
    wake()
#else
    publish(target);
    wake()
#endif
}

inline look(target) { d_step { found = (waiting[target] > 0); waiting[target] = 0 } }

inline takeWake() {
    if
    :: word == WOKEN -> word = AWAKE                                              /* E2 */
    :: else
    fi
}

/* epoll_wait without waiting: it takes the doorbell's event, if there is one. */
inline check(set) { ring[set] = false }

inline park(set) {
    do
    :: word != PARKED -> break
    :: else ->
        d_step {                                                                  /* FUTEX_WAIT */
            if
#ifdef NO_FUTEX_COMPARE
            :: true -> queued = true; asleep = true
#else
            :: word == PARKED -> queued = true; asleep = true                     /* E1 */
            :: else
#endif
            fi
        };
        if
        :: asleep ->
end_parked: if
            :: !queued -> asleep = false
            :: endings > 0 -> d_step { endings--; queued = false; asleep = false }
            :: endings > 0 -> d_step { endings--; queued = false; asleep = false; due = true }
            :: set == INNER -> d_step { queued = false; asleep = false; due = true }
            fi
        :: else
        fi;
        if
        :: due -> break
        :: else
        fi
    od
}

inline poll(set) {
#ifdef CLEARED_DOORBELL
    ring[set] = false;
#endif
    do
    :: true ->
        asleep = true;
end_polling:
        if
#ifdef LEVEL_TRIGGERED
        :: ring[set] -> asleep = false
#else
        :: ring[set] -> d_step { ring[set] = false; asleep = false }
#endif
        :: endings > 0 -> d_step { endings--; asleep = false; due = true }
        :: endings > 0 -> d_step { endings--; asleep = false; due = true; ring[set] = false }
        :: set == INNER -> d_step { asleep = false; due = true }
        fi;
        if
        :: due -> break
#ifdef ENDED_BY_DOORBELL
        :: else -> break
#elif defined(IGNORED_WORD)
        :: else
#else
        :: else ->
            if
            :: word != POLLING -> break
            :: else                                                               /* E4 */
            fi
#endif
        fi
    od
}

/* The inner run has a deadline: its sleep may always end. */
inline wait(set) {
#if defined(SPLIT_CAS)
    slept = (word == AWAKE);
    if :: slept -> word = PARKED + polls[set] :: else fi;
#elif defined(BLIND_SLEEP)
    d_step { slept = true; word = PARKED + polls[set] };
#else
    d_step { slept = (word == AWAKE); if :: slept -> word = PARKED + polls[set] :: else fi }; /* E1 */
#endif
    if
    :: !slept -> takeWake(); check(set)
    :: else ->
        if
        :: polls[set] -> poll(set)
        :: else -> park(set)
        fi;
        assert(due || word < PARKED);
        word = AWAKE                                                              /* E2 */
    fi;
    d_step { slept = false; due = false }
}

active proctype Loop() {
    byte seen;
    bool found, performed, nested, slept, due;
    atomic {
        if :: polls[OUTER] = true :: skip fi;
        run Producer(OUTER);
        if
        :: run Producer(OUTER); run Producer(OUTER)
        :: nestings = 1;
            if :: polls[INNER] = true :: skip fi;
            if :: run Producer(OUTER) :: run Producer(INNER) fi
        fi
    };
    do
    :: true ->
        look(OUTER);
        performed = found;
        if
        :: nestings > 0 ->
            d_step { nestings--; nested = true; mode = INNER };
            look(INNER);
            if
            :: found -> takeWake(); check(INNER)
            :: else -> wait(INNER)
            fi;
            look(INNER);
            mode = OUTER
        :: true
        fi;
        if
        :: performed ->
            takeWake();
            check(OUTER);
#ifdef NO_LOOK_AFTER
            wait(OUTER)
#endif
        :: else ->
#ifndef NO_WAKE_AFTER_RUN
            if :: nested -> waking++; wake() :: else fi;                          /* N1 */
#endif
            wait(OUTER)
        fi;
        d_step { performed = false; nested = false; found = false; seen = AWAKE }
    od
}

#define isAsleep (asleep && ((polls[OUTER] && !ring[OUTER]) || (!polls[OUTER] && queued)))

ltl lost { [] !(isAsleep && mode == OUTER && waiting[OUTER] > 0 && waking == 0) }
ltl done { <> [] (asleep && mode == OUTER && waiting[OUTER] == 0) }
