# The Markdown of a document of Scripts/bench: a line about the machine, then for each scenario a
# table with a row for each figure and a column for each contender. Figures are medians with three
# digits; ours have the least and greatest round behind them. $date is the day of the measurement.

def grouped: if length > 3 then (.[:-3] | grouped) + "," + .[-3:] else . end;
def digits:
    if . == 0 then "0"
    elif . < 0 then "-" + (-. | digits)
    else
        ([2 - (log10 | floor), 6] | min) as $places
        | if $places > 0 then . * pow(10; $places) | round / pow(10; $places) | tostring
            else . / pow(10; -$places) | round * pow(10; -$places) | tostring | grouped end
    end;
def load: split(" ")[0];
def distinct: reduce .[] as $one ([]; if index([$one]) then . else . + [$one] end);
def row: "\(.group)\(if .placement == "pinned" then ", on one cpu" else "" end): \(.metric), \(.unit)";
def cell($isFirst):
    if . == null then "–"
    elif $isFirst and .min != .max then "\(.median | digits) [\(.min | digits)–\(.max | digits)]"
    else .median | digits end;

.machine as $m
| "Measured \($date) on \($m.cpu), \($m.cpuCount) cpus, Linux \($m.kernel | split("-")[0]), \($m.toolchain),",
    "\($m.allocator); load before \($m.loadBefore | load), after \($m.loadAfter | load).",
    (.measurements as $all
        | [$all[].scenario] | distinct[] as $scenario
        | [$all[] | select(.scenario == $scenario)] as $figures
        | ([$figures[].contender] | distinct) as $contenders
        | "", "`Scripts/bench \($scenario)`:", "",
            "| figure | \($contenders | join(" | ")) |", "|---\("|---" * ($contenders | length))|",
            ([$figures[] | row] | distinct[] as $row
                | [$contenders[] as $who
                    | first($figures[] | select(row == $row and .contender == $who)) // null
                    | cell($who == $contenders[0])]
                | "| \($row) | \(join(" | ")) |"))
