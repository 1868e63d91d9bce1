/* Handing over: no element is lost, taken twice or read half written, and nobody writes into a
 * block that is not his.
 *
 * Models Sources/Structures/Inbox.swift, Inbox+Spares.swift and InboxBlock.swift with their edges E1 to E5, and, as N1
 * and N2, the consumer in Sources/WorkerThreads/Handover/PerformQueue.swift: it takes its signal,
 * takes elements until there is none, and rests; or it is interrupted, and announces what it left
 * when its next run begins. The signal carries the wake-up, which wake.pml is about.
 *
 * Blocks have two slots. Either
 *   in a new inbox one producer pushes two elements and another one; the consumer comes back once
 *     without need, is once interrupted, and may close the inbox between any two batches;
 *   or three producers push one element each where one slot is free, with two spare blocks at hand;
 *   or two, and the consumer may close the inbox: one of them may have come too late by then;
 *   or, where none is free and one is to spare, one pushes four and another one: then a block comes
 *     round, full again, to a producer that has seen it full the time before.
 * Two blocks at most are kept to spare. Memory that is given back is handed out again.
 *
 * Each statement is one step of one thread, on memory that is sequentially consistent. That is what
 * the code asks for where it matters: all operations on the word and on `resting` are, and all
 * others publish by release and acquire what the reader looks at after them. One pair of steps may
 * change places in the code, and does so here: the publication, a release, and the look at
 * `resting` after it. Yielding waits for the producer that it is meant for; the consumer may also come back
 * once before that one has got any further. Where the consumer is, `position`, is its own: others
 * read it for a hint only. Marks (`end`, `isTaken`) are not modelled.
 *
 * Properties
 *   lost   The consumer never rests while an element waits and nobody is pushing.
 *   done   In the end each element was handed over or refused, the consumer rests, and no memory
 *          is held but a block to use and those to spare, not more than are kept. This needs no
 *          fairness: all that a thread does ends.
 *   And assertions: a slot is written by who claimed it, while its block is in the chain, and read
 *   when it holds an element; each producer's elements come in order; a block has one owner; one
 *   producer at most wakes the consumer from one rest; the index stays within its bits.
 *
 * Mutants, each of which must violate one of these
 *   -DEARLY_FLAG       E1: the slot is published before its element is written.
 *   -DBLIND_TAKE       E1: the consumer takes what is claimed, published or not.
 *   -DEARLY_LOAD       E2: the producer looks at `resting` before it claims, as if relaxed.
 *   -DEARLY_LOOK       E2: the consumer looks at the word before it says that it rests.
 *   -DNO_LOOK          E2: the consumer rests without a second look.
 *   -DPUBLISHED_ONLY   E2: the second look passes over what is claimed and not yet published.
 *   -DSPLIT_EXCHANGE   E2: the producer loads `resting` and then stores it.
 *   -DSPLIT_CLOSE      E3: the closer loads the word and then stores it.
 *   -DHASTY_CLOSE      E3: the closer does not wait for who has claimed and not published.
 *   -DUNSETTLED_CLOSE  E3: the closer waits for claims that came too late.
 *   -DREOPENED         E3: a producer puts a block into a closed inbox.
 *   -DSPLIT_ADD        E3: a claim loads the word and then stores it.
 *   -DSTALE_BLOCK      E4: a claim is for the block that was seen before it.
 *   -DEARLY_LINK       E4: a block is linked before it is in the word.
 *   -DSPLIT_CAS        E4: a new block is put into the word by a load and a store.
 *   -DLATE_READ        E4: who came too late looks into the full block.
 *   -DEARLY_KEEP       E5: the consumer gives a block back before it has moved the last element.
 *   -DNO_CLEARING      E5: a block is used again with what was published in it before.
 *   -DLATE_CLEARING    E5: a block is cleared after it was put into the word.
 *   -DSTALE_NEXT       E5: a block is used again with the block that followed.
 *   -DSPLIT_SPARE      E5: the spares are loaded and then taken away.
 *   -DSPLIT_KEEP       E5: a block is put in front of the spares by a load and a store.
 *   -DSPLIT_RETURN     E5: what is left of the spares is put back by a store.
 *   -DLATE_CLEAR       N1: the consumer takes its signal after its elements.
 *   -DNO_RETURN        N1: the consumer sleeps though not everything was taken.
 *   -DNO_ANNOUNCEMENT  N2: nobody announces what an interrupted batch has left.
 */
#define SLOTS  2
#define FIRST  1            /* the first slot of the first block of all, which has no others before it */
#define BLOCKS 6

#define CLOSED   0          /* the addresses that are no block's; blocks have 2 and above */
#define UNOPENED 1
#define NONE     0
#define KEPT     2          /* as many blocks are kept to spare */

/* What a block's memory is. */
#define FREE    0
#define PRIVATE 1
#define CHAINED 2
#define SPARE   3

byte wordAddress = UNOPENED;
byte wordIndex = SLOTS;
byte spares = NONE;         /* the first of the spare blocks */
byte spareCount;            /* how many there are; in the same word */
byte firstBlock = NONE;
bool resting = true;
bool signalled;

typedef Block {
    byte use;
    byte next;
    bool flags[SLOTS];
    byte elements[SLOTS];
    byte claimers[SLOTS]
};
Block blocks[BLOCKS + 2];

bool asleep;
bool answered = false;      /* whether somebody wakes the consumer from its last rest */
byte pushing;               /* how many producers are in a push */
byte waiting;               /* how many elements are published and not taken */
byte total;                 /* how many will be pushed */
byte handled;               /* how many were handed over or refused */
byte held;                  /* how many blocks are allocated */
byte chained;               /* how many are in the chain that elements are in */
byte expected[3];           /* the next element of each producer */
byte returns;               /* how often the consumer may still come back without a reason to */
byte interruptions;         /* how many batches may still be interrupted */
bool closes;                /* whether the consumer may close the inbox */

inline allocate(fresh) {
    fresh = 2;
    do
    :: blocks[fresh].use == FREE -> break
    :: else -> fresh++; assert(fresh < BLOCKS + 2)
    od;
    blocks[fresh].use = PRIVATE;
    held++
}

inline clear(cleared) {
    blocks[cleared].flags[0] = false; blocks[cleared].flags[1] = false
}

/* All zero: also what the next one to allocate it finds there. */
inline deallocate(gone) {
    assert(blocks[gone].elements[0] == NONE && blocks[gone].elements[1] == NONE);
    blocks[gone].use = FREE;
    blocks[gone].next = NONE;
    clear(gone);
    blocks[gone].claimers[0] = NONE;
    blocks[gone].claimers[1] = NONE;
    held--
}

/* Puts a block in front of a chain that is the caller's, or gives it up if that is long enough. */
inline prepend(added) {
    if
    :: chainCount < KEPT ->
        assert(blocks[added].use == SPARE);
        blocks[added].next = chain; chain = added; chainCount++
    :: else -> deallocate(added)
    fi
}

/* What is between two looks at the word of the spares is done to blocks that are the caller's. */
inline putBack() {
    do
#ifdef SPLIT_RETURN
    :: d_step { spares = chain; spareCount = chainCount };
        break
#else
    :: d_step { spares == NONE -> spares = chain; spareCount = chainCount };      /* E5 */
        break
    :: spares != NONE ->
        d_step {
            other = spares; spares = NONE; spareCount = 0;                        /* E5 */
            do
            :: other != NONE ->
                after = blocks[other].next;
                prepend(other);
                other = after
            :: else -> break
            od;
            after = NONE
        }
#endif
    od;
    atomic { chain = NONE; chainCount = 0 }
}

inline makeBlock() {
#ifdef SPLIT_SPARE
    d_step { new = spares; chainCount = spareCount };
    d_step {
        if :: new != NONE -> spares = NONE; spareCount = 0 :: else fi;
#else
    d_step {
        new = spares; chainCount = spareCount; spares = NONE; spareCount = 0;     /* E5 */
#endif
        if
        :: new == NONE -> allocate(new)
        :: else ->
            assert(blocks[new].use == SPARE);
            blocks[new].use = PRIVATE;
            chain = blocks[new].next; chainCount--;
#ifndef STALE_NEXT
            blocks[new].next = NONE;
#endif
#if !defined(NO_CLEARING) && !defined(LATE_CLEARING)
            clear(new)                                                            /* E5 */
#endif
        fi;
        if :: chain == NONE -> chainCount = 0 :: else fi
    };
    if :: chain != NONE -> putBack() :: else fi
}

/* That another block than the one seen is in front is noticed; that it was so meanwhile is not, and
 * need not be. */
inline keep(kept) {
    d_step {
        assert(blocks[kept].use == PRIVATE);
        blocks[kept].use = SPARE;
        chain = spares; chainCount = spareCount
    };
    do
    :: chainCount >= KEPT -> d_step { deallocate(kept) }; break
#ifdef SPLIT_KEEP
    :: else ->
        d_step { prepend(kept); spares = chain; spareCount = chainCount };
        break
#else
    :: else ->
        d_step {
            if
            :: spares == chain && spareCount == chainCount ->                     /* E5 */
                prepend(kept); spares = chain; spareCount = chainCount; other = 1
            :: else -> chain = spares; chainCount = spareCount
            fi
        };
        if :: other == 1 -> break :: else fi
#endif
    od;
    atomic { chain = NONE; chainCount = 0; other = NONE }
}

inline claimed() {
    if
    :: slot < SLOTS ->
        assert(blocks[block].use == CHAINED && blocks[block].claimers[slot] == NONE);
        blocks[block].claimers[slot] = _pid
    :: else
    fi
}

inline claim() {
#ifdef SPLIT_ADD
    d_step { block = wordAddress; slot = wordIndex };
    d_step { wordAddress = block; wordIndex = slot + 1; claimed() }
#elif defined(STALE_BLOCK)
    block = wordAddress;
    d_step { slot = wordIndex; wordIndex++; claimed() }
#else
    d_step {                                                                      /* E2 E3 */
        block = wordAddress; slot = wordIndex; wordIndex++;
        assert(wordIndex <= SLOTS + 3);
        claimed()
    }
#endif
}

inline write() {
    assert(blocks[block].use == CHAINED && blocks[block].claimers[slot] == _pid);
    assert(blocks[block].elements[slot] == NONE);
    blocks[block].elements[slot] = _pid * 8 + number
}

/* A slot is nobody else's before its flag is there: writing and publishing are one step. */
inline store() {
#ifdef EARLY_FLAG
    d_step { blocks[block].flags[slot] = true; waiting++ };
    d_step { write() }
#else
    d_step { write(); blocks[block].flags[slot] = true; waiting++ }               /* E1 */
#endif
}

inline endPush() {
    pushing--; number++;
    rests = false; room = false; block = NONE; slot = 0; seen = NONE; new = NONE
}

inline publish() {
#ifdef EARLY_LOAD
    store();
#else
    if
    :: store(); rests = resting                                                   /* E2 */
    :: rests = resting; store()                                                   /* as it may */
    fi;
#endif
    if
    :: rests ->
#ifdef SPLIT_EXCHANGE
        rests = resting;
        d_step {
            resting = false;
#else
        d_step {                                                                  /* E2 */
            rests = resting; resting = false;
#endif
            if :: rests -> assert(!answered); answered = true :: else fi
        }
    :: else
    fi;
    atomic {
        if :: rests -> signalled = true :: else fi;                               /* N1 */
        endPush()
    }
}

inline linkNew() {
    d_step {
        if
        :: seen == UNOPENED -> assert(firstBlock == NONE); firstBlock = new       /* E4 */
        :: else ->
            assert(blocks[seen].use == CHAINED && blocks[seen].next == NONE);
            blocks[seen].next = new                                               /* E4 */
        fi
    }
}

inline putIn() {
#ifdef EARLY_LINK
    linkNew();
#endif
#ifdef SPLIT_CAS
    room = (wordAddress == seen && wordIndex == slot);
    d_step {
#else
    d_step {                                                                      /* E3 E4 */
        room = (wordAddress == seen && wordIndex == slot);
#endif
        slot = (seen == UNOPENED -> FIRST : 0);
        if
        :: room ->
            wordAddress = new; wordIndex = slot + 1;
            assert(blocks[new].use == PRIVATE && blocks[new].claimers[slot] == NONE);
            blocks[new].use = CHAINED; chained++; blocks[new].claimers[slot] = _pid
        :: else
        fi
    };
    if
    :: room ->
#ifndef EARLY_LINK
        linkNew();
#endif
#ifdef LATE_CLEARING
        d_step { clear(new) };
#endif
        d_step { block = new; new = NONE; room = false; seen = NONE };
        publish();
        break
    :: !room && seen == UNOPENED -> d_step { deallocate(new); new = NONE }
    :: else
    fi
}

inline pushBeyond() {
    do
    :: true ->
        d_step { seen = wordAddress; slot = wordIndex; room = (slot < SLOTS) };
        if
#ifndef REOPENED
        :: seen == CLOSED ->
            if :: new != NONE -> keep(new) :: else fi;
            d_step { handled++; endPush() };
            break
        :: seen != CLOSED && room ->
#else
        :: room ->
#endif
            claim();
            if
            :: slot < SLOTS ->
                if :: new != NONE -> keep(new) :: else fi;
                d_step { new = NONE; seen = NONE; room = false };
                publish();
                break
            :: else
            fi
#ifdef REOPENED
        :: !room ->
#else
        :: seen != CLOSED && !room ->
#endif
#ifdef LATE_READ
            if :: seen > UNOPENED -> assert(blocks[seen].use == CHAINED) :: else fi;
#endif
            if
            :: new == NONE && seen == UNOPENED -> d_step { allocate(new) }
            :: new == NONE && seen != UNOPENED -> makeBlock()
            :: else
            fi;
            putIn()
        fi
    od
}

proctype Producer(byte count) {
    byte number, block, slot, new, seen, chain, chainCount, other, after;
    bool room, rests;
    do
    :: number == count -> break
    :: else ->
#ifdef EARLY_LOAD
        d_step { pushing++; rests = resting };
        room = (wordIndex < SLOTS);
#else
        d_step { pushing++; room = (wordIndex < SLOTS) };
#endif
        if
        :: room ->
            d_step { room = false };
            claim();
            if
            :: slot < SLOTS -> publish()
            :: else -> pushBeyond()
            fi
        :: else -> pushBeyond()
        fi
    od
}

#define settled(index) (index < SLOTS -> index : SLOTS)

#define isPublished (index < SLOTS && blocks[place].flags[index])
#define isLinked (index == SLOTS && blocks[place].next != NONE)

/* Whether the next element, or the block that it will be in, is there. */
#define isThere (place == UNOPENED && firstBlock != NONE || place > UNOPENED && (isPublished || isLinked))

inline leave() {
    assert(blocks[place].use == CHAINED);
    blocks[place].use = PRIVATE; chained--;
    blocks[place].claimers[0] = NONE; blocks[place].claimers[1] = NONE
}

/* The first block of all is of no use to others. */
inline giveUp(left) {
    if
    :: left == firstBlock -> d_step { firstBlock = NONE; deallocate(left) }
    :: else -> keep(left)
    fi
}

inline move() {
    assert(blocks[place].use == CHAINED && blocks[place].elements[index] != NONE);
    element = blocks[place].elements[index];
    blocks[place].elements[index] = NONE;
    assert(expected[element / 8 - 1] == element % 8);
    expected[element / 8 - 1]++;
    handled++; waiting--; index++; element = NONE; found = true
}

/* A block is nobody else's once it is left, a slot not any more once it is published. */
inline popFirst() {
    if
    :: place == UNOPENED && firstBlock != NONE ->                                 /* E4 */
        d_step { place = firstBlock; index = FIRST }
    :: place > UNOPENED && isLinked ->                                            /* E4 */
        d_step { next = blocks[place].next; leave() };
        giveUp(place);
        d_step { place = next; index = 0; next = NONE }
    :: else
    fi;
    if
#ifdef BLIND_TAKE
    :: d_step {
        place > UNOPENED && index < SLOTS && blocks[place].claimers[index] != NONE -> move() }
#elif defined(EARLY_KEEP)
    :: place > UNOPENED && isPublished && index == SLOTS - 1 && blocks[place].next != NONE ->
        d_step { leave() };
        giveUp(place);
        d_step { move() }
    :: d_step {
        place > UNOPENED && isPublished && !(index == SLOTS - 1 && blocks[place].next != NONE) ->
        move() }
#else
    :: d_step { place > UNOPENED && isPublished -> move() }                            /* E1 */
#endif
    :: else -> found = false
    fi
}

inline look() {
#if defined(NO_LOOK)
    nothing = true
#elif defined(PUBLISHED_ONLY)
    nothing = !isThere
#else
    nothing = (wordAddress == place && settled(wordIndex) == index)                 /* E2 */
#endif
}

inline rest() {
#ifdef EARLY_LOOK
    look();
    d_step { resting = true; answered = false };
#else
    d_step { resting = true; answered = false };                                  /* E2 */
    look();
#endif
    if
    :: nothing
    :: else -> resting = false
    fi
}

/* Gives way to the producer that is expected to go on. */
inline yield() {
    if
    :: isThere
    :: returns > 0 -> returns--
    fi
}

inline performBatch() {
    do
    :: true ->
        popFirst();
        if
        :: found
        :: !found ->
            rest();
#ifndef NO_RETURN
            if
            :: nothing
            :: else -> yield(); signalled = true                                  /* N1 */
            fi;
#endif
            break
        fi
    :: interruptions > 0 ->
        interruptions--;
        leftByInterruption = true;
        break
    od;
#ifdef LATE_CLEAR
    if :: nothing -> signalled = false :: else fi;
#endif
    atomic { found = false; nothing = false };
    if
    :: leftByInterruption ->
        leftByInterruption = false;
#ifndef NO_ANNOUNCEMENT
        if :: !resting -> signalled = true :: else fi                             /* N2 */
#endif
    :: else
    fi
}

inline closeInbox() {
#ifdef SPLIT_CLOSE
    d_step { lastAddress = wordAddress; lastIndex = settled(wordIndex) };
    d_step { wordAddress = CLOSED; wordIndex = SLOTS };
#else
    d_step {                                                                      /* E3 */
        lastAddress = wordAddress;
#ifdef UNSETTLED_CLOSE
        lastIndex = wordIndex;
#else
        lastIndex = settled(wordIndex);
#endif
        wordAddress = CLOSED; wordIndex = SLOTS
    };
#endif
    do
    :: place == lastAddress && index == lastIndex -> break
    :: else ->
        popFirst();
        if
        :: found
        :: else ->
#ifdef HASTY_CLOSE
            break
#else
            isThere                                                               /* waits */
#endif
        fi
    od;
    atomic {
        if
        :: place > UNOPENED -> blocks[place].use = PRIVATE; chained--; deallocate(place)
        :: else
        fi;
        place = CLOSED; index = SLOTS; lastAddress = 0; lastIndex = 0; found = false
    };
    d_step {                                                                      /* E5 */
        chain = spares; spares = NONE; spareCount = 0;
        do
        :: chain != NONE ->
            assert(blocks[chain].use == SPARE);
            other = chain; chain = blocks[chain].next;
            deallocate(other)
        :: else -> break
        od;
        other = NONE
    }
}

/* As it is when a block was left and some slots of the next were taken. */
inline startUsed(taken, others) {
    d_step {
        blocks[2].use = SPARE; blocks[2].flags[0] = true; blocks[2].flags[1] = true;
#ifdef STALE_NEXT
        blocks[2].next = 3;
#endif
        if
        :: others == 1 ->
            blocks[4].use = SPARE; blocks[2].next = 4; held = 1
        :: else
        fi;
        blocks[3].use = CHAINED; chained = 1; blocks[3].flags[0] = true;
        blocks[3].flags[1] = (taken > 1);
        blocks[3].claimers[0] = 1; blocks[3].claimers[1] = taken - 1;
        spares = 2; spareCount = 1 + others; held = held + 2;
        wordAddress = 3; wordIndex = taken; place = 3; index = taken
    }
}

active proctype Consumer() {
    byte place = UNOPENED;
    byte index = SLOTS;
    byte next, element, lastAddress, lastIndex, chain, chainCount, other;
    bool found, nothing, leftByInterruption;
    atomic {
        if
        :: closes = true; returns = 1; interruptions = 1;
            total = 3; run Producer(2); run Producer(1)
        :: startUsed(1, 1); total = 3; run Producer(1); run Producer(1); run Producer(1)
        :: closes = true;
            startUsed(1, 0); total = 2; run Producer(1); run Producer(1)
        :: startUsed(SLOTS, 0); total = 5; run Producer(4); run Producer(1)
        fi
    };
    do
    :: asleep = true;
end_asleep:
#ifdef LATE_CLEAR
        d_step { signalled -> asleep = false };
#else
        d_step { signalled -> asleep = false; signalled = false };                /* N1 */
#endif
        performBatch()
    :: closes -> closeInbox(); break
    od;
    asleep = true;
    signalled = false
}

#define isAsleep (asleep && !signalled)

ltl lost { [] !(isAsleep && waiting > 0 && pushing == 0) }
#define isAllThere (chained <= 1 && spareCount <= KEPT && held == chained + spareCount)

ltl done { <> [] (asleep && handled == total && isAllThere) }
