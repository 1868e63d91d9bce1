# The pages of the manual. Sourced by the scripts that install them; machine.bash comes first.

# shellcheck shell=bash

# write_manual DIRECTORY PROGRAMS: writes workerctl.1 and workerd.8, as the programs in the directory
# PROGRAMS print them, and workerd.json5.5, which is the sample configuration.
write_manual() {
    local directory=$1 programs=$2
    "$programs/workerctl" man >"$directory/workerctl.1"
    "$programs/workerd" --manual >"$directory/workerd.8"
    {
        sed -n '1p' "$directory/workerd.8"
        printf '%s\n' '.Dt WORKERD.JSON5 5'
        sed -n '3p' "$directory/workerd.8"
        cat <<'END'
.Sh NAME
.Nm workerd.json5
.Nd configuration of workerd
.Sh DESCRIPTION
.Xr workerd 8
reads this file when it starts.
It is JSON with comments, trailing commas and keys without quotes (JSON5).
An unknown key or a wrong value is an error, with its place in the file:
.Pp
.Dl workerd \-\-config /etc/workerd/workerd.json5 \-\-check
.Pp
This is the sample, with all settings.
.Bd -literal
END
        sed -e 's/\\/\\e/g' -e 's/-/\\-/g' -e "s/^[.']/\\\\\&&/" "$repository/Config/workerd.json5"
        cat <<'END'
.Ed
.Sh SEE ALSO
.Xr workerctl 1 ,
.Xr workerd 8
END
    } >"$directory/workerd.json5.5"
}
