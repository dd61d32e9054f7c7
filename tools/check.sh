# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
#
# Sourced by everything that counts: run a check, say how it went, tally it.
#
# Tallies are lines "passed", "failed" or "skipped" in the file $TALLY, so that
# one sum covers checks that different programs ran.

# Seconds after which a check has failed.
: "${CHECK_LIMIT_S:=900}"
: "${TALLY:=/dev/null}"

tally() { # passed|failed|skipped NAME
	case $1 in
	passed) echo "ok   $2" ;;
	failed) echo "FAIL $2" ;;
	skipped) echo "skip $2" ;;
	esac
	echo "$1" >>"$TALLY"
}

# Run a command; its output shows only when it fails or skips (status 77).
# True unless it failed.
check() { # NAME COMMAND...
	check_name=$1
	shift
	check_log=$(mktemp)
	check_status=0
	check_start_s=$(date +%s)
	timeout --foreground --kill-after=10 "$CHECK_LIMIT_S" "$@" >"$check_log" 2>&1 || check_status=$?
	check_name="$check_name ($(($(date +%s) - check_start_s)) s)"
	case $check_status in
	0) tally passed "$check_name" ;;
	77) tally skipped "$check_name" && tail -n 3 "$check_log" | sed 's/^/     /' ;;
	*) tally failed "$check_name" && tail -n 40 "$check_log" | sed 's/^/     /' ;;
	esac
	rm -f "$check_log"
	[ "$check_status" -eq 0 ] || [ "$check_status" -eq 77 ]
}

count() { # passed|failed|skipped
	grep -cx "$1" "$TALLY" || :
}

# At most 5 % skipped: a test that is skipped shows nothing, and when many are
# the run does not either.
few_skipped() {
	[ $(($(count skipped) * 20)) -le "$(wc -l <"$TALLY")" ] ||
		{ echo "FAIL more than 5 % were skipped" && return 1; }
}

# The last line of every run. True when something passed and nothing failed.
summary() {
	line="$(count passed) passed, $(count failed) failed"
	[ "$(count skipped)" -eq 0 ] || line="$line, $(count skipped) skipped"
	echo "$line"
	[ "$(count failed)" -eq 0 ] && [ "$(count passed)" -gt 0 ]
}
