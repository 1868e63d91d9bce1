/* Sharing work: nothing waits while a member that could take it sleeps, and in the end all that was
 * submitted was run or refused.
 *
 * Models Sources/WorkerThreads/Pool/PoolBoard.swift, PoolBoard+Keys.swift, PoolMember.swift and
 * WorkerPool+Replacing.swift, and of WorkerCore.swift how a thread looks at its life before each run.
 * What the board does under the pool's lock is one step; the wake-ups that it asks for come later. The
 * signal of a member's source carries the wake-up, which wake.pml is about.
 *
 * Two members, two pieces of work: one for all, the other for one member, or for all and taken back
 * if that is still possible. Which of two that wait for a member is first is tried both ways, which
 * is every priority. Meanwhile a member is paused and resumed, or stopped, or both finish. Or one is
 * paused while a run is nested in it, in a piece of work or in something else that the thread does,
 * with or without a job around it, which a change of life does not end. Or both pieces have the same
 * key; which member a key gets is tried both ways, whatever they have to do. Or a fresh thread takes the
 * seat of a member; or of one that is paused, with one piece for all, and is resumed.
 *
 * Or a member is busy with something that was submitted to its thread directly, while both pieces are for
 * all.
 *
 * Not modelled: what else a thread does beside the pool's work, such as a timer whose callout takes
 * long. An idle member that is woken meanwhile looks at the queues only after it. Nor a member that is
 * replaced after it was told to stop, and full queues.
 *
 * Properties
 *   lost   Work never waits while a member that takes it sleeps, and nobody but work is under way.
 *   done   In the end everything was run, taken back or refused, if work ends, and no key is bound.
 *          Needs no fairness.
 * and, asserted in both searches, that work of one key is never run by two members at once.
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
 *   -DEARLY_UNBIND       A key is unbound when its work is begun.
 *   -DREBIND_LEAVING     bind: who was told to stop loses its keys before it has ended.
 *   -DSPLIT_BIND         That a key is bound, and that its work is queued, are two steps.
 *   -DNO_UNBIND          Work that is refused stays bound.
 *   -DNO_GIVE_UP         replaceMember: the old thread goes on with the queues.
 *   -DNO_LOOK_AT_ATTACH  workerAttached: the fresh thread does not look at the queues.
 *   -DNO_LIFE_OF_FRESH   replaceMember: nobody hears that the fresh thread is paused.
 *   -DIDLE_BESIDE        beginBeside: who is busy with something of its own still counts as idle.
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
#define ALL     2           /* for whom work is, if for no single member */
#define OLD     0           /* threads: each member's first one has its number */
#define FRESH   2
#define NOBODY  3

bool hasKeys;               /* what is tried */
bool replaces;

byte board[2];              /* the members' states */
byte shared;
byte own[2];
byte bound;                 /* how much work of the key waits or runs, and whose it is */
byte boundTo;
byte handled;
byte waking;                /* how many are about to wake a member, or to change a life */

byte seat[2];               /* the threads that sit there */
bool gaveUp;                /* whether the old thread knows that it does not any more */
byte life[3];               /* from here on, of each thread */
bool interrupted[3];
bool message[3];            /* whether the control port has something: a change of life */
bool called;                /* or the fresh thread's first look at its life */
bool signalled[3];
byte doing[3];
byte nestings;              /* how many runs may still be nested */
byte submits;               /* how many may still be submitted to a member's thread directly */

#define isClosed(target) (target == ALL -> (board[0] >= LEAVING && board[1] >= LEAVING) \
    : board[target % 2] >= LEAVING)
#define takesShared(member) (board[member] != LEAVING || isClosed(ALL))
#define hasWork(member) (own[member] > 0 || (takesShared(member) && shared > 0))
#define isOpen(member) (board[member] < LEAVING && life[member] < FINISH)
#ifdef NO_GIVE_UP
#define isOut(thread) false
#else
#define isOut(thread) (gaveUp && thread == OLD)
#endif
#ifdef REBIND_LEAVING
#define isBound (bound > 0 && board[boundTo] < LEAVING)
#else
#define isBound (bound > 0 && board[boundTo] != ENDED)
#endif

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

/* Who sits there is asked first, and may be replaced before it is signalled. */
inline wake(woken) {
    if
    :: woken != NOBODY && replaces ->
        woken = seat[woken];
        atomic { signalled[woken] = true; waking--; woken = NOBODY }
    :: woken != NOBODY && !replaces ->
        atomic { signalled[woken] = true; waking--; woken = NOBODY }
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

/* Inside a step of the board: the target is the member that the key has, or NOBODY. */
inline bind(target) {
    if
    :: isBound -> target = boundTo
    :: !isBound && isOpen(0) -> target = 0
    :: !isBound && isOpen(1) -> target = 1
    :: !isBound && !isOpen(0) && !isOpen(1) -> target = NOBODY
    fi;
    if :: target != NOBODY -> bound++; boundTo = target :: else fi
}

inline submitKeyed(target, woken) {
#ifdef SPLIT_BIND
    atomic { bind(target) };
    atomic {
        if :: target == NOBODY -> handled++ :: else -> queue(target); wakeFor(target, woken) fi
    };
#else
    atomic {
        bind(target);
        if :: target == NOBODY -> handled++ :: else -> queue(target); wakeFor(target, woken) fi
    };
#endif
    wake(woken)
}

inline submit(target, woken) {
#ifdef LATE_PUSH
    atomic { if :: !isClosed(target) -> wakeFor(target, woken) :: else fi };
    wake(woken);
    atomic { if :: isClosed(target) -> handled++ :: else -> queue(target) fi }
#else
    atomic {
        if
        :: isClosed(target) -> handled++
        :: else -> queue(target); wakeFor(target, woken)
        fi
    };
    wake(woken)
#endif
}

proctype Submitter(byte target; bool cancels) {
    byte other = NOBODY;
    submit(target, other);
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

/* One after the other: where their order counts, one thread submits them. */
proctype KeyedSubmitter() {
    byte target;
    byte other = NOBODY;
    submitKeyed(target, other);
    submitKeyed(target, other)
}

/* For all, and for the first member alone, or the other way round. */
proctype TwofoldSubmitter() {
    byte target;
    byte other = NOBODY;
    if
    :: target = ALL
    :: target = 0
    fi;
    submit(target, other);
    target = ALL - target;
    submit(target, other)
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
    found = hasWork(place);
#endif
    atomic {
        if
        :: isOut(me) -> found = false
        :: !isOut(me) && own[place] > 0 -> own[place]--; found = true
        :: !isOut(me) && takesShared(place) && shared > 0 -> shared--; found = true
        :: else ->
#ifdef SPLIT_REST
            skip
#else
            if :: board[place] == ACTIVE -> board[place] = IDLE :: else fi;
            found = false
#endif
        fi;
        if :: found && board[place] == IDLE -> board[place] = ACTIVE :: else fi;
        if
        :: found ->
            doing[me] = WORKING;
            assert(!hasKeys || doing[1 - place] != WORKING)
#ifdef EARLY_UNBIND
            ; if :: hasKeys -> bound-- :: else fi
#endif
        :: else
        fi
    };
#ifdef SPLIT_REST
    if
    :: !found && board[place] == ACTIVE -> board[place] = IDLE
    :: else
    fi;
#endif
}

inline goOn() {
    atomic {
        if
        :: !isOut(me) && board[place] <= IDLE ->
#ifdef NO_HEIR_AFTER_RUN
            board[place] = ACTIVE
#else
            replace(place, ACTIVE, other)
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

inline endWork() {
    if
    :: atomic { !hasKeys -> handled++; doing[me] = MOVING }
    :: atomic { hasKeys -> handled++; doing[me] = MOVING };
#ifndef EARLY_UNBIND
        bound--
#endif
    fi
}

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

/* Something of the thread's own, which may take as long as it likes. */
inline beside() {
#ifndef IDLE_BESIDE
    goOn();
    signalled[me] = true;
#endif
    doing[me] = WORKING;
end_beside:
    doing[me] = MOVING
}

inline lifeChanged() {
    atomic {
        if
        :: isOut(me)
        :: !isOut(me) && life[me] >= FINISH ->
            if
            :: board[place] != ENDED -> replace(place, LEAVING, other)
            :: else
            fi
        :: !isOut(me) && life[me] == PAUSE && board[place] <= IDLE ->
            replace(place, AWAY, other)
        :: !isOut(me) && life[me] == RUN && board[place] == AWAY -> board[place] = ACTIVE
        :: else
        fi
    };
    wake(other)
}

/* A member that comes to life, and after it each of its runs, begins with a look. A fresh thread
 * may have looked at its life before it was given the member's part. */
proctype Member(byte place; byte me) {
    byte other = NOBODY;
    byte mode, count, left, outerCount, outerDoing;
    bool found, inJob, stopping;
    bool isPart = me != FRESH;
    do
    :: d_step { interrupted[me] = false; mode = life[me]; stopping = false };
        if
        :: mode >= FINISH -> break
        :: else
        fi;
        if
        :: lifeChanged()
        :: !isPart
        fi;
        if
        :: mode == PAUSE ->
            do
            :: atomic { isPart = true; doing[me] = PAUSED };
end_paused:
                if
                :: message[me] -> atomic { message[me] = false; doing[me] = MOVING }; break
                :: me == FRESH && called ->
                    atomic { called = false; doing[me] = MOVING };
                    lifeChanged()
                fi
            od
        :: else ->
            atomic {
#ifdef NO_LOOK_AT_ATTACH
                if :: isPart -> enterRun() :: else fi;
#else
                enterRun();
#endif
                isPart = true
            };
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
                :: me == FRESH && called ->
                    atomic { called = false; doing[me] = MOVING };
                    lifeChanged()
                :: nestings > 0 && me == 0 -> doing[me] = MOVING; nest()
                :: atomic { submits > 0 && me == 0 -> submits--; doing[me] = MOVING };
                    beside()
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
        :: !hasWork(place) -> break
        :: else
        fi
    od;
    atomic {
        if
        :: isOut(me)
        :: !isOut(me) ->
            replace(place, ENDED, other);
#ifndef NO_REFUSAL
            left = own[place]; own[place] = 0; handled = handled + left;
            if
            :: board[0] == ENDED && board[1] == ENDED -> handled = handled + shared; shared = 0
            :: else
            fi
#endif
        fi
    };
    wake(other);
    atomic {
#ifndef NO_UNBIND
        if :: hasKeys -> bound = bound - left :: else fi;
#endif
        left = 0;
        doing[me] = GONE
    }
}

/* The same in one step, where something else is tried. */
inline changeAtOnce(thread, asked) {
    atomic { life[thread] = asked; interrupted[thread] = true; message[thread] = true }
}

/* A fresh thread takes the first member's seat, however far the old one is. */
proctype Replacer(bool pauses) {
    if
    :: pauses -> changeAtOnce(OLD, PAUSE)
    :: else
    fi;
    atomic { waking++; life[FRESH] = life[OLD]; seat[0] = FRESH };
    gaveUp = true;
    atomic { doing[FRESH] = MOVING; run Member(0, FRESH) };
#ifndef NO_LIFE_OF_FRESH
    called = true;
#endif
    changeAtOnce(OLD, STOP);
    waking--;
    if
    :: pauses -> changeAtOnce(FRESH, RUN)
    :: else
    fi
}

init {
    atomic {
        seat[1] = 1;
        doing[FRESH] = GONE;
        run Member(0, 0);
        run Member(1, 1);
        if
        :: submits = 1; run Submitter(ALL, false); run Submitter(ALL, false)
        :: run Submitter(ALL, false);
            if
            :: nestings = 1; run Owner(true); run Submitter(1, false)
            :: run Owner(false); run Submitter(0, false)
            :: run Owner(false); run Submitter(ALL, true)
            fi
        :: hasKeys = true; run Owner(false); run KeyedSubmitter()
        :: replaces = true; run Replacer(false); run TwofoldSubmitter()
        :: replaces = true; run Replacer(true); run Submitter(ALL, false); handled = 1
        fi
    }
}

#define sleeps(thread) (doing[thread] == ASLEEP && !signalled[thread] && !message[thread])
#define isStill(thread) (sleeps(thread) || doing[thread] == WORKING || doing[thread] == GONE \
    || (doing[thread] == PAUSED && !message[thread]))
#define strands(member, thread) (sleeps(thread) && !interrupted[thread] \
    && board[member] <= IDLE && (own[member] > 0 || shared > 0))
#define strandsAny ((!gaveUp && strands(0, OLD)) || strands(0, FRESH) || strands(1, 1))

ltl lost { [] !(strandsAny && isStill(OLD) && isStill(1) && isStill(FRESH) && !called && waking == 0) }
ltl done { <> [] (handled == 2 && bound == 0) }
