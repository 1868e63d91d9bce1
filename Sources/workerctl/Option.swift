// Every option there is. One name means the same with every command, so a line can be read before
// its command is known, and options may stand in front of it or behind it.

/// An option.
enum Option: String, CaseIterable {
    case socket = "--socket"
    case tcp = "--tcp"
    case cacert = "--cacert"
    case cert = "--cert"
    case certKey = "--cert-key"
    case tlsName = "--tls-name"
    case user = "--user"
    case passwordFile = "--password-file"
    case trustUser = "--trust-user"
    case json = "--json"
    case help = "--help"
    case version = "--version"
    case wait = "--wait"
    case file = "--file"
    case delay = "--delay"
    case at = "--at"
    case priority = "--priority"
    case timeout = "--timeout"
    case cron = "--cron"
    case zone = "--zone"
    case every = "--every"
    case missed = "--missed"
    case overlap = "--overlap"
    case key = "--key"
    case unique = "--unique"
    case again = "--again"
    case uniqueFor = "--for"
    case tell = "--tell"
    case retry = "--retry"
    case block = "--block"
    case expire = "--expire"
    case label = "--label"
    case trace = "--trace"
    case volatile = "--volatile"
    case payload = "--payload"
    case all = "--all"
    case thread = "--thread"
    case state = "--state"
    case limit = "--limit"
    case oldest = "--oldest"
    case before = "--before"
    case after = "--after"
    case selector = "--selector"
    case older = "--older"
    case newer = "--newer"
    case failures = "--failures"
    case reason = "--reason"
    case dryRun = "--dry-run"
    case yes = "--yes"
    case drain = "--drain"
    case now = "--now"
    case replace = "--replace"
    case attempt = "--attempt"
    case argument = "--arg"
    case variable = "--env"
    case follow = "--follow"
    case roles = "--roles"
    case threads = "--threads"
    case selectors = "--selectors"
    case payloads = "--payloads"
    case finish = "--finish"
    case colour = "--color"
    case each = "--each"
    case lines = "--lines"
    case inFlight = "--in-flight"
    case patience = "--patience"
    case failFast = "--fail-fast"
    case any = "--any"
    case config = "--config"

    /// Whether a value goes with it.
    enum Arity {
        case flag
        case value(String)
        /// A value goes with it, and it may be given several times.
        case values(String)
        /// The next word is its value only if it is a number, such as `500` or `2s`.
        case optionalDuration(String)
    }

    var arity: Arity {
        switch self {
        case .json, .help, .version, .drain, .now, .block, .volatile, .payload, .again,
            .tell, .replace, .follow, .failures, .oldest, .dryRun, .yes, .each, .lines, .failFast,
            .any, .payloads, .finish:
            .flag
        case .key: .value("KEY")
        case .label, .reason: .value("TEXT")
        case .trace: .value("TRACEPARENT")
        case .argument: .values("--NAME[=VALUE]")
        case .variable: .values("NAME=VALUE")
        case .unique: .value("ID")
        case .retry, .attempt, .inFlight: .value("N")
        case .all: .value("SELECTOR")
        case .wait: .optionalDuration("MS")
        case .socket: .value("PATH")
        case .trustUser: .value("NAME|UID")
        case .tcp: .value("[tls://]HOST:PORT")
        case .user, .tlsName: .value("NAME")
        case .roles: .value("ROLE,…")
        case .threads, .selectors: .value("PATTERN,…")
        case .passwordFile, .file, .config, .cacert, .cert, .certKey: .value("FILE")
        case .delay, .timeout, .expire, .every, .uniqueFor, .older, .newer, .patience:
            .value("DURATION")
        case .cron: .value("EXPRESSION")
        case .zone: .value("ZONE")
        case .missed: .value("once|all|none")
        case .overlap: .value("one|skip|queue")
        case .at: .value("WHEN")
        case .colour: .value("auto|always|never")
        case .priority: .value("high|normal|low")
        case .thread: .value("THREAD")
        case .state: .value("STATE")
        case .limit: .value("N")
        case .before, .after: .value("ID")
        case .selector: .value("SELECTOR")
        }
    }

    /// The options of every command.
    static let common: [Option] = [
        .socket, .trustUser, .tcp, .cacert, .cert, .certKey, .tlsName, .user, .passwordFile, .json,
        .colour, .help, .version,
    ]

    /// How it is written: `--delay DURATION`.
    var usage: String {
        switch arity {
        case .flag: rawValue
        case .value(let value): "\(rawValue) \(value)"
        case .values(let value): "\(rawValue) \(value) …"
        case .optionalDuration(let value): "\(rawValue) [\(value)]"
        }
    }

    var summary: String {
        switch self {
        case .socket:
            "the daemon's socket; else $WORKERD_SOCKET, /run/workerd/workerd.sock or one below "
                + "$XDG_RUNTIME_DIR/workerd or ~/.workerd/run"
        case .trustUser: "trust a socket of this user, beside root's, workerd's and one's own"
        case .tcp: "a daemon's port, such as 127.0.0.1:7711, or tls://127.0.0.1:7711"
        case .cacert:
            "the file of the authority of the daemon's certificate; this machine's if not given"
        case .cert: "the file of one's own certificate, for a daemon that asks for it"
        case .certKey: "the file of its private key; --cert's if not given"
        case .tlsName: "the name in the daemon's certificate; the host of --tcp if not given"
        case .user: "a user of the daemon's users file; --password-file has its secret"
        case .passwordFile: "the file whose first line is the password for --tcp or of --user"
        case .json: "print one JSON document; observe, wait, --each and --lines: one on each line"
        case .help: "print what a command does"
        case .version: "print the version"
        case .wait: "wait for the job's end, at most so long if a time is given"
        case .file: "the payload is what this file contains, or standard input for -"
        case .delay: "begin after this time: 500 (ms), 250ms, 30s, 5m, 1h, 2d"
        case .at:
            "begin at this time: 14:30, 'tomorrow 8:00', 'in 2h', '2026-12-24 18:00', or "
                + "milliseconds since 1970"
        case .priority: "which of the jobs that wait goes first"
        case .timeout: "how long the job may run"
        case .cron: "when, such as '30 3 * * *'"
        case .zone: "whose clock --cron means, such as Europe/Berlin; UTC if not given"
        case .every: "once in this time, such as 10s"
        case .missed: "what becomes of missed runs: one for all of them if not given"
        case .overlap:
            "while a job has not ended: at most one waits (if not given), none or each is made"
        case .key: "keep its order with the jobs of this key"
        case .unique: "hand it in once: the job of this name if there is one already"
        case .again: "with --unique: a new job if the one of this name has ended or was dropped"
        case .uniqueFor: "with --unique: how long the name is in force, at most 365d"
        case .tell: "with --unique: print new or known behind the number"
        case .retry: "try it again so often if it fails"
        case .block: "with --retry: what follows it waits meanwhile"
        case .expire: "never run it if it has not begun after this time"
        case .label: "what people call it: shown wherever the job is"
        case .trace: "its place in a trace, for its handler, such as $TRACEPARENT"
        case .volatile: "keep it in memory only: it is gone when the daemon ends"
        case .payload: "print its payload, as it is: of a job that has not ended, or has failed"
        case .all: "all failed jobs of this selector"
        case .thread: "only jobs for this thread or pool"
        case .state:
            "only jobs that are delayed, buffered, waiting, running, stuck, done, failed, "
                + "cancelled or expired"
        case .limit: "at most so many, 100 if not given"
        case .oldest: "the oldest jobs first"
        case .before: "only jobs with smaller numbers: for the next page, the last one's"
        case .after: "only jobs with larger numbers: for the next page with --oldest"
        case .selector: "only jobs of this selector"
        case .older: "only jobs that were handed in so long ago, or longer"
        case .newer: "only jobs that were handed in within this time"
        case .failures: "show why each job failed, and when it ended"
        case .reason: "only jobs that failed for this reason, all numbers being alike"
        case .dryRun: "only say what would be done"
        case .yes: "do not ask"
        case .drain: "first perform everything that was accepted"
        case .now: "end at once"
        case .replace: "take the place of one of this name"
        case .argument: "an argument for the program, as its configuration allows"
        case .variable: "a variable for the program, as its configuration allows"
        case .attempt: "the number of an attempt; the latest if not given"
        case .follow: "go on until the job has ended"
        case .roles: "what the user may do: observe, submit, work, operate"
        case .threads: "the threads that it may touch, such as 'mail,images-*'; all if not given"
        case .selectors: "the selectors that it may touch; all if not given"
        case .payloads: "let it see payloads, results, failures and such"
        case .finish: "forget the old secret; make no new one"
        case .colour: "colours: on a terminal without NO_COLOR (auto), always or never"
        case .each: "one job for each of the files that follow; its payload is the file's content"
        case .lines: "one job for each line of standard input"
        case .inFlight: "with --each, --lines: how many jobs at a time, 1 to 1000; 64 if not given"
        case .patience:
            "with --each, --lines: how long a job is offered while BUSY; 60s if not given"
        case .failFast: "with --each, --lines: hand in nothing more after the first failure"
        case .config: "the configuration that is checked"
        case .any: "until the first has ended"
        }
    }
}
