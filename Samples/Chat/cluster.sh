#!/usr/bin/env bash
# Several servers of one chat: Redis, the servers, and a front that spreads connections over those that live.
#
#     Samples/Chat/cluster.sh [--host ADDRESS] [--port PORT] [--websocket-port PORT] [--servers N] [--until-eof]
#
# Prints one line for each process, its fields separated by blanks, and then `ready`:
#
#     redis PID URL
#     server PID HTTP-URL WEBSOCKET-URL        (N times)
#     front PID HTTP-URL WEBSOCKET-URL
#
# Whoever ends is not started again, so that each may be killed to see what happens. Ctrl-C or SIGTERM ends everything.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=${VENV:-$here/../../.venv}

fail() { echo "cluster.sh: $1" >&2; exit 1; }

host=127.0.0.1 port=3000 websocket_port=3001 servers=3 until_eof=
while [ "$#" -gt 0 ]; do
    case "$1" in
        --until-eof) until_eof=1; shift; continue ;;  # also ends when standard input does
        --host)  # of the front and the servers
            [ -n "${2:-}" ] || fail "$1 needs an address"
            host=$2
            shift 2
            continue
            ;;
        --port | --websocket-port | --servers) ;;
        *) fail "unknown option $1; there are --host, --port, --websocket-port, --servers and --until-eof" ;;
    esac
    [[ "${2:-}" =~ ^[0-9]{1,5}$ ]] || fail "$1 needs a number"
    case "$1" in
        --port) port=$2 ;;
        --websocket-port) websocket_port=$2 ;;
        --servers) servers=$2 ;;
    esac
    shift 2
done
[ "$servers" -gt 0 ] || fail "--servers has to be 1 at least"
command -v redis-server >/dev/null || fail "redis-server is missing; install it with: apt-get install redis-server"
[ -x "$venv/bin/python" ] || fail "there is no $venv/bin/python; make it with: make venv"

folder=$(mktemp -d "${TMPDIR:-/tmp}/linkspan-cluster-XXXXXX")
redis_pid='' others='' watcher=''
end() {
    trap - EXIT
    trap '' INT TERM
    # Redis last: the servers say good-bye to it.
    kill $others $watcher 2>/dev/null || true
    [ -z "$others" ] || wait $others 2>/dev/null || true
    kill $redis_pid 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 0' INT TERM

# Starts a process, whose number is `$!` then.
start() {
    local name=$1
    shift
    : >"$folder/$name"
    "$@" >>"$folder/$name" </dev/null &
    if [ "$name" = redis ]; then redis_pid=$!; else others="$others $!"; fi
    echo $! >>"$folder/pids"
}

# Waits until a process has printed so many lines that have a word.
await() {
    local name=$1 pid=$2 word=$3 count=$4
    for ((tries = 0; tries < 600; tries++)); do
        [ "$(grep -c "$word" "$folder/$name" || true)" -lt "$count" ] || return 0
        kill -0 "$pid" 2>/dev/null || fail "$name did not start: $(tail -n 3 "$folder/$name")"
        sleep 0.05
    done
    fail "$name did not start in time"
}

# The address of a kind that a server has printed.
address() { sed -n "s/^listening $2 //p" "$folder/$1"; }

if [ -n "$until_eof" ]; then
    # Not even SIGKILL for this script leaves its processes behind, if whoever holds the other end of its input is gone.
    {
        while read -r; do :; done
        kill $$ 2>/dev/null || true
        sleep 2 >/dev/null 2>&1
        kill $(cat "$folder/pids") 2>/dev/null || true
        rm -rf "$folder"
    } <&0 &
    watcher=$!
fi

# A socket in a folder of our own is in nobody's way. `always`: a line that was confirmed outlives a kill of Redis, too.
start redis redis-server --port 0 --unixsocket "$folder/redis.sock" --unixsocketperm 600 \
    --dir "$folder" --save '' --appendonly yes --appendfsync always
await redis $redis_pid 'eady to accept connections' 1
redis="unix://$folder/redis.sock"
echo "redis $redis_pid $redis"

# All at once: most of the time is taken by Python.
pids=()
for ((number = 0; number < servers; number++)); do
    start "server-$number" \
        "$venv/bin/python" "$here/server.py" --host "$host" --port 0 --websocket-port 0 --redis "$redis"
    pids+=($!)
done
routes=() websocket_routes=()
for ((number = 0; number < servers; number++)); do
    await "server-$number" "${pids[number]}" '^listening ' 2
    urls=("$(address "server-$number" socketio)" "$(address "server-$number" websocket)")
    echo "server ${pids[number]} ${urls[*]}"
    routes+=("${urls[0]##*:}") websocket_routes+=("${urls[1]##*:}")
done

join() { local IFS=,; echo "$*"; }
start front "$venv/bin/python" "$here/front.py" --host "$host" \
    --route "$port=$(join "${routes[@]}")" --route "$websocket_port=$(join "${websocket_routes[@]}")"
front_pid=$!
await front $front_pid '^listening ' 2
{ read -r _ address; read -r _ websocket_address; } <"$folder/front"
echo "front $front_pid http://$address ws://$websocket_address"
echo ready
wait $redis_pid $others || true
