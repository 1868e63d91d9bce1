-- A store of workerd 0.1.0 (commit 03d470f), as it was when the daemon was killed: `.dump` of the
-- file. Jobs 1 and 2 are done and 3 has failed. Thread `mail` is paused; 4 to 6 and 9 wait for it
-- (5 with a high priority, 6 with a key, blocking retries and a label, 9 with a unique name), 7
-- expires, 8 is delayed, 10 is buffered. 11 holds up thread `images` after its fourth attempt, so
-- 12 waits. 13 runs on `reports`, for which the schedule `nightly` makes jobs.
PRAGMA application_id = 2003530340;
PRAGMA user_version = 9;
BEGIN TRANSACTION;
CREATE TABLE asked_to_end (job INTEGER NOT NULL PRIMARY KEY);
CREATE TABLE ended (
    id INTEGER NOT NULL PRIMARY KEY,
    thread TEXT NOT NULL,
    selector TEXT NOT NULL,
    priority INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    timeout_ms BIGINT,
    accepted_at BIGINT NOT NULL,
    due_at BIGINT,
    started_at BIGINT,
    worker TEXT,
    ended_at BIGINT NOT NULL,
    outcome INTEGER NOT NULL,
    result BLOB, order_key BLOB, retry_blocks INTEGER NOT NULL DEFAULT 0, forgiven INTEGER NOT NULL DEFAULT 0, payload BLOB, carried BLOB);
INSERT INTO "ended" VALUES(3,'mail','no',1,1,0,NULL,1795672303174,NULL,1795672303177,'mail',1795672303179,2,X'65786974207374617475732031',NULL,0,0,X'6661696C73',NULL);
CREATE TABLE ended_packs (
    last_id INTEGER NOT NULL PRIMARY KEY,
    first_id BIGINT NOT NULL,
    kept BLOB NOT NULL,
    records BLOB NOT NULL);
INSERT INTO "ended_packs" VALUES(1,1,X'0100000000000000',X'0131E101046D61696C01046563686F8699C7E6C268000100046D61696C8899C7E6C2688899C7E6C2680108646F6E65206F6E65');
INSERT INTO "ended_packs" VALUES(2,2,X'0100000000000000',X'0231E101046D61696C01046563686F8A99C7E6C268000100046D61696C8A99C7E6C2688A99C7E6C2680108646F6E652074776F');
CREATE TABLE jobs (
    id INTEGER NOT NULL PRIMARY KEY,
    thread TEXT NOT NULL,
    selector TEXT NOT NULL,
    payload BLOB NOT NULL,
    priority INTEGER NOT NULL,
    held INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    timeout_ms BIGINT,
    accepted_at BIGINT NOT NULL,
    due_at BIGINT,
    started_at BIGINT,
    worker TEXT, order_key BLOB, retry_blocks INTEGER NOT NULL DEFAULT 0, forgiven INTEGER NOT NULL DEFAULT 0, is_due INTEGER NOT NULL DEFAULT 0, expires_at BIGINT, carried BLOB);
INSERT INTO "jobs" VALUES(7,'mail','echo',X'65787069726573',1,0,0,0,NULL,1795672303182,NULL,NULL,NULL,NULL,0,0,0,1796572303182,NULL);
INSERT INTO "jobs" VALUES(8,'mail','echo',X'6C61746572',1,1,0,0,NULL,1795672303183,1796572303184,NULL,NULL,NULL,0,0,0,NULL,NULL);
INSERT INTO "jobs" VALUES(10,'mail','echo',X'6275666665726564',1,2,0,0,NULL,1795672303184,NULL,NULL,NULL,NULL,0,0,0,NULL,NULL);
INSERT INTO "jobs" VALUES(11,'images','no',X'626C6F636B73',1,1,4,5,NULL,1795672303185,1795672319517,1795672311078,'images',NULL,1,0,0,NULL,NULL);
INSERT INTO "jobs" VALUES(13,'reports','nap',X'72756E6E696E67',1,0,1,0,NULL,1795672303189,NULL,1795672303190,'reports',NULL,0,0,0,NULL,NULL);
CREATE TABLE packs (
    last_id INTEGER NOT NULL PRIMARY KEY,
    first_id BIGINT NOT NULL,
    kept BLOB NOT NULL,
    thread TEXT NOT NULL,
    priority INTEGER NOT NULL,
    records BLOB NOT NULL);
INSERT INTO "packs" VALUES(4,4,X'0100000000000000','mail',1,X'041900046563686F9899C7E6C268000000097761697473206F6E65');
INSERT INTO "packs" VALUES(5,5,X'0100000000000000','mail',0,X'051900046563686F9A99C7E6C2680000000977616974732074776F');
INSERT INTO "packs" VALUES(6,6,X'0100000000000000','mail',1,X'06239802046563686F9A99C7E6C268030000016B040100016C0B7761697473207468726565');
INSERT INTO "packs" VALUES(9,9,X'0100000000000000','mail',1,X'091600046563686F9E99C7E6C26800000006756E69717565');
INSERT INTO "packs" VALUES(12,12,X'0100000000000000','images',1,X'0C1600046563686FA299C7E6C26800000006626568696E64');
CREATE TABLE paused (thread TEXT NOT NULL PRIMARY KEY);
INSERT INTO "paused" VALUES('mail');
CREATE TABLE schedules (
    name TEXT NOT NULL PRIMARY KEY,
    from_command INTEGER NOT NULL,
    cron TEXT,
    zone TEXT,
    every_ms BIGINT,
    missed TEXT NOT NULL,
    thread TEXT NOT NULL,
    selector TEXT NOT NULL,
    payload BLOB NOT NULL,
    priority INTEGER NOT NULL,
    retries INTEGER,
    timeout_ms BIGINT,
    since BIGINT NOT NULL,
    through BIGINT NOT NULL,
    last_run_at BIGINT,
    last_job BIGINT, expire_ms BIGINT, order_key BLOB, retry_blocks INTEGER, carried BLOB);
INSERT INTO "schedules" VALUES('nightly',1,'0 3 * * *','UTC',NULL,'once','reports','echo',X'7265706F7274',1,NULL,NULL,1795672303188,1795672303188,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE settings (
    name TEXT NOT NULL PRIMARY KEY,
    value BIGINT NOT NULL);
INSERT INTO "settings" VALUES('next_id',20001);
INSERT INTO "settings" VALUES('attempts_mark',-2258816920461181553);
INSERT INTO "settings" VALUES('retried_through',1795672311081);
INSERT INTO "settings" VALUES('touched',1);
CREATE TABLE unique_names (
    name BLOB NOT NULL PRIMARY KEY,
    job BIGINT NOT NULL,
    accepted_at BIGINT NOT NULL,
    look_at BIGINT NOT NULL);
INSERT INTO "unique_names" VALUES(X'6F726465722D37',9,1795672303183,1795758703183);
CREATE INDEX jobs_in_turn ON jobs (thread, priority, id) WHERE held = 0;
CREATE INDEX ended_failed ON ended (selector, id)
    WHERE outcome IN (2, 3) AND payload IS NOT NULL;
CREATE INDEX unique_names_in_time ON unique_names (look_at);
CREATE INDEX jobs_held ON jobs (thread, priority, held, due_at, id) WHERE held > 0;
CREATE INDEX jobs_blocking ON jobs (due_at, id)
    WHERE held = 1 AND retry_blocks = 1 AND attempt > forgiven;
CREATE INDEX packs_in_turn ON packs (thread, priority);
CREATE INDEX jobs_delayed ON jobs (thread, priority, id) WHERE held = 1;
CREATE INDEX jobs_expiring ON jobs (expires_at, id)
    WHERE expires_at IS NOT NULL AND attempt = 0;
COMMIT;
