/* Sharing work: nothing waits while a member that could take it sleeps, and in the end all that was
 * submitted was run or refused.
 *
 * Models Sources/WorkerThreads/Pool/PoolBoard.swift and PoolMember.swift, and of WorkerCore.swift
 * how a thread looks at its life before each run. What the board does under the pool's lock is one step;
 * the wake-ups that it asks for come later. The signal of a member's source carries the wake-up,
 * which wake.pml is about.
 *
 * Two members, two pieces of work: one for all, the other for one member, or for all and taken back
 * if that is still possible. Which of two that wait for a member is first is tried both ways, which
 * is every priority. Meanwhile a member is paused and resumed, or stopped, or both finish. Or one is
 * paused while a run is nested in it, in a piece of work or in something else that the thread does,
 * with or without a job around it, which a change of life does not end.
 *
 * Not modelled: what a thread does beside the pool's work, such as a perform of its own that takes
 * long. An idle member that is woken meanwhile looks at the queues only after it.
 *
 * Properties
 *   lost   Work never waits while a member that takes it sleeps, and nobody but work is under way.
 *   done   In the end everything was run, taken back or refused, if work ends. Needs no fairness.
 *
 * Mutants, each of which must violate one of these
 *   -DNO_WAKE            push: nobody is woken.
 *   -DLATE_PUSH          push: who is to be woken is asked before the work is queued.
 *   -DSPLIT_REST         next: that there is nothing, and that the member rests, are two steps.
 *   -DNO_SECOND_BATCH    A batch that has reached its limit is not gone on with.
 *   -DNO_HEIR_AFTER_RUN  goOn: what a nested run was woken for waits for what is around it.
 *   -DNO_LOOK_AT_ENTRY   A run begins without a look.
 *   -DNO_REFUSAL         end: what only an ended member could take is kept.
 *   -DBUSY_WITH_OWN      push: own work, taken first, keeps a member from what it was woken for.
 *   -DNO_HEIR_AT_YIELD   A member that is to yield keeps what it was woken for.
 */
#define ACTIVE  0
#define IDLE    1
#define AWAY    2
#define LEAVING 3
#define ENDED   4

#define RUN     0           /* what is asked of a member */
#define PAUSE   1
#define FINISH  2
#define STOP    3

#define MOVING  0           /* what a member does: it will go on by itself */
#define ASLEEP  1           /* it sleeps in a run that takes work */
#define WORKING 2
#define PAUSED  3
#define GONE    4

#define BATCH   1
#define NOBODY  2
#define ALL     2

byte board[2];              /* the members' states */
byte shared;
byte own[2];
byte handled;
byte waking;                /* how many are about to wake a member, or to change a life */

byte life[2];
bool interrupted[2];
bool message[2];            /* whether the control port has something */
bool signalled[2];
byte doing[2];
byte nestings;              /* how many runs may still be nested */

#define isClosed(target) (target == ALL -> (board[0] >= LEAVING && board[1] >= LEAVING) \
    : board[target % 2] >= LEAVING)
#define takesShared(member) (board[member] != LEAVING || isClosed(ALL))
#define hasWork(member) (own[member] > 0 || (takesShared(member) && shared > 0))

/* Inside a step of the board. */
inline takeIdle(woken) {
    if
    :: board[0] == IDLE -> board[0] = ACTIVE; woken = 0
    :: board[1] == IDLE -> board[1] = ACTIVE; woken = 1
    :: else -> woken = NOBODY
    fi;
    if :: woken != NOBODY -> waking++ :: else fi
}

inline replace(member, state, woken) {
    board[member] = state;
    if
    :: shared > 0 -> takeIdle(woken)
    :: else -> woken = NOBODY
    fi
}

inline wake(woken) {
    if
    :: woken != NOBODY -> atomic { signalled[woken] = true; waking--; woken = NOBODY }
    :: else
    fi
}

inline queue(target) {
    if
    :: target == ALL -> shared++
    :: else -> own[target]++
    fi
}

inline wakeFor(target, woken) {
    woken = NOBODY;
    if
#ifndef NO_WAKE
    :: target == ALL -> takeIdle(woken)
    :: target != ALL && board[target % 2] == IDLE ->
        board[target] = ACTIVE; woken = target; waking++
#endif
    :: else ->
#ifndef BUSY_WITH_OWN
        if :: target != ALL && shared > 0 -> takeIdle(woken) :: else fi
#endif
    fi
}

proctype Submitter(byte target; bool cancels) {
    byte other = NOBODY;
#ifdef LATE_PUSH
    atomic { if :: !isClosed(target) -> wakeFor(target, other) :: else fi };
    wake(other);
    atomic { if :: isClosed(target) -> handled++ :: else -> queue(target) fi };
#else
    atomic {
        if
        :: isClosed(target) -> handled++
        :: else -> queue(target); wakeFor(target, other)
        fi
    };
    wake(other);
#endif
    if
    :: cancels ->
        atomic {
            if
            :: target == ALL && shared > 0 -> shared--; handled++
            :: target != ALL && own[target % 2] > 0 -> own[target]--; handled++
            :: else
            fi
        }
    :: else
    fi
}

inline change(member, asked) {
    atomic { life[member] = asked; waking++ };
    interrupted[member] = true;
    atomic { message[member] = true; waking-- }
}

proctype Owner(bool nests) {
    if
    :: nests -> change(0, PAUSE)
    :: !nests -> change(0, PAUSE); change(0, RUN)
    :: !nests -> change(0, STOP)
    :: !nests -> change(0, FINISH); change(1, FINISH)
    fi
}

/* The board's next: what is found is taken; a member that finds nothing is idle. */
inline next() {
#ifdef SPLIT_REST
    found = hasWork(me);
#endif
    atomic {
        if
        :: own[me] > 0 -> own[me]--; found = true
        :: takesShared(me) && shared > 0 -> shared--; found = true
        :: else ->
#ifdef SPLIT_REST
            skip
#else
            if :: board[me] == ACTIVE -> board[me] = IDLE :: else fi;
            found = false
#endif
        fi;
        if :: found && board[me] == IDLE -> board[me] = ACTIVE :: else fi;
        if :: found -> doing[me] = WORKING :: else fi
    };
#ifdef SPLIT_REST
    if
    :: !found && board[me] == ACTIVE -> board[me] = IDLE
    :: else
    fi;
#endif
}

inline goOn() {
    atomic {
        if
        :: board[me] <= IDLE ->
#ifdef NO_HEIR_AFTER_RUN
            board[me] = ACTIVE
#else
            replace(me, ACTIVE, other)
#endif
        :: else
        fi
    };
    wake(other)
}

inline enterRun() {
#ifndef NO_LOOK_AT_ENTRY
    signalled[me] = true
#else
    skip
#endif
}

inline leaveRun() {
    goOn();
    signalled[me] = true
}

inline startBatch() { count = 0 }

/* One turn of a batch; `found` says whether there is something to run. */
inline takeNext() {
    found = false;
    if
    :: interrupted[me] ->
#ifndef NO_HEIR_AT_YIELD
        goOn()
#else
        skip
#endif
    :: !interrupted[me] && count == BATCH ->
#ifndef NO_SECOND_BATCH
        signalled[me] = true
#else
        skip
#endif
    :: !interrupted[me] && count < BATCH -> count++; next()
    fi
}

inline endWork() { atomic { handled++; doing[me] = MOVING } }

/* A run in the default mode, in something that the thread does. In a job it goes on after a change
 * of life. It may end whenever it looks. */
inline nest() {
    d_step { nestings--; outerCount = count; outerDoing = doing[me]; doing[me] = MOVING };
    if :: inJob = true :: skip fi;
    enterRun();
    do
    :: true ->
        doing[me] = ASLEEP;
end_nested:
        if
        :: signalled[me] ->
            atomic { signalled[me] = false; doing[me] = MOVING };
            startBatch();
            do
            :: true ->
                takeNext();
                if
                :: found -> endWork()
                :: else -> break
                fi
            od
        :: message[me] ->
            atomic { message[me] = false; doing[me] = MOVING; stopping = true };
            if
            :: !inJob -> break
            :: else
            fi
        :: doing[me] = MOVING; break
        fi
    od;
    leaveRun();
    atomic { count = outerCount; doing[me] = outerDoing; inJob = false; outerCount = 0; outerDoing = 0 }
}

inline performBatch() {
    startBatch();
    do
    :: true ->
        takeNext();
        if
        :: found ->
end_working:
            if
            :: true
            :: nestings > 0 && me == 0 -> nest()
            fi;
            endWork()
        :: else -> break
        fi
    od;
    count = 0
}

inline lifeChanged() {
    atomic {
        if
        :: life[me] >= FINISH ->
            if
            :: board[me] != ENDED -> replace(me, LEAVING, other)
            :: else
            fi
        :: life[me] == PAUSE && board[me] <= IDLE ->
            replace(me, AWAY, other)
        :: life[me] == RUN && board[me] == AWAY -> board[me] = ACTIVE
        :: else
        fi
    };
    wake(other)
}

/* A member that comes to life, and after it each of its runs, begins with a look. */
proctype Member(byte me) {
    byte other = NOBODY;
    byte mode, count, outerCount, outerDoing;
    bool found, inJob, stopping;
    do
    :: d_step { interrupted[me] = false; mode = life[me]; stopping = false };
        if
        :: mode >= FINISH -> break
        :: else
        fi;
        lifeChanged();
        if
        :: mode == PAUSE ->
            doing[me] = PAUSED;
end_paused: message[me] -> atomic { message[me] = false; doing[me] = MOVING }
        :: else ->
            enterRun();
            do
            :: stopping -> break
            :: else ->
                doing[me] = ASLEEP;
end_asleep:
                if
                :: signalled[me] ->
                    atomic { signalled[me] = false; doing[me] = MOVING };
                    performBatch()
                :: message[me] ->
                    atomic { message[me] = false; doing[me] = MOVING; stopping = true }
                :: nestings > 0 && me == 0 -> doing[me] = MOVING; nest()
                fi
            od;
            leaveRun()
        fi
    od;
    do
    :: life[me] != FINISH -> break
    :: else ->
        interrupted[me] = false;
        lifeChanged();
        enterRun();
        signalled[me] = false;
        performBatch();
        leaveRun();
        if
        :: !hasWork(me) -> break
        :: else
        fi
    od;
    atomic {
        replace(me, ENDED, other);
#ifndef NO_REFUSAL
        handled = handled + own[me]; own[me] = 0;
        if
        :: board[0] == ENDED && board[1] == ENDED -> handled = handled + shared; shared = 0
        :: else
        fi
#endif
    };
    wake(other);
    doing[me] = GONE
}

init {
    atomic {
        run Member(0);
        run Member(1);
        run Submitter(ALL, false);
        if
        :: nestings = 1; run Owner(true); run Submitter(1, false)
        :: run Owner(false); run Submitter(0, false)
        :: run Owner(false); run Submitter(ALL, true)
        fi
    }
}

#define sleeps(member) (doing[member] == ASLEEP && !signalled[member] && !message[member])
#define isStill(member) (sleeps(member) || doing[member] == WORKING || doing[member] == GONE \
    || (doing[member] == PAUSED && !message[member]))
#define strands(member) (sleeps(member) && !interrupted[member] \
    && board[member] <= IDLE && (own[member] > 0 || shared > 0))

ltl lost { [] !((strands(0) || strands(1)) && isStill(0) && isStill(1) && waking == 0) }
ltl done { <> [] (handled == 2) }
