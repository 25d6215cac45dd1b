#!/bin/bash
# PostgreSQL on three nodes with Patroni, etcd and HAProxy, all on this machine. Settings: cluster.env.
#
#   check [COMMAND…]          names the packages that are missing, also those of other commands
#   up | down                 starts what does not run; stops everything, and keeps the data
#   destroy                   kills everything, and removes the data
#   wait                      until every node follows the leader, and enough of them synchronously
#   leader | sync             the number of the leader; of a synchronous standby
#   status                    what Patroni knows
#   psql N [arguments]        psql on node N, as superuser
#   ctl arguments             patronictl
#   rest N PATH               asks Patroni of node N
#   switchover [N]            makes node N the leader, or else a synchronous standby
#   start etcd|haproxy|N      starts one part
#   stop etcd|haproxy|nodeN [SIGNAL]
#   pids N | postmaster N     process ids: of Patroni and all of PostgreSQL; of PostgreSQL's first process
#   kill N [postgres|patroni] kill -9: the whole node, or one half of it
#   freeze N [postgres]       SIGSTOP, as when a machine hangs; `wake N` ends it
#   cut N | heal N            disconnects the node from the others (NAMESPACES=true), and connects it again
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=cluster.env
. ./cluster.env
AS=(); [ "$(id -u)" != 0 ] || AS=(setpriv "--reuid=$RUN_AS" "--regid=$(id -g "$RUN_AS" 2>/dev/null || echo nogroup)" --init-groups)
# Patroni and its Python are Debian's, whatever else is on the PATH.
SYSTEM=(env -u PYTHONPATH PATH=/usr/bin:/bin:/usr/sbin:/sbin)
export PATH=$PATH:/usr/sbin:/sbin
pg_bin() { find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin 2>/dev/null | sort -V | tail -1; }
PG_BIN=${PG_BIN:-$(pg_bin)}

missing() {
  [ -x "$PG_BIN/initdb" ] || echo postgresql-15
  [ -x /usr/bin/patroni ] || echo patroni
  command -v etcd >/dev/null || echo etcd-server
  command -v haproxy >/dev/null || echo haproxy
  command -v curl >/dev/null || echo curl
  command -v psql >/dev/null || echo postgresql-client-15
  command -v pgrep >/dev/null || echo procps
  [ "$NAMESPACES" != true ] || command -v ip >/dev/null || echo iproute2
  local command
  for command; do command -v "$command" >/dev/null || echo "$command"; done
}
check() {
  local names; names=$(missing "$@" | xargs)
  [ -z "$names" ] || fail "missing on this machine: apt-get install $names"
}
# For what `check` cannot see: ports in use, a folder that PostgreSQL cannot enter.
prepare() {
  [ "$NAMESPACES" != true ] || [ "$(id -u)" = 0 ] || fail 'NAMESPACES=true needs root'
  [ $((LOOP_WAIT + 2 * RETRY_TIMEOUT)) -le "$TTL" ] || fail 'LOOP_WAIT + 2 * RETRY_TIMEOUT must not be above TTL'
  local n name; mkdir -p "$STATE/archive" "$STATE/log"; for n in $NODES; do mkdir -p "$STATE/node$n"; done
  [ "$(id -u)" != 0 ] || chown -R "$RUN_AS" "$STATE"
  "${AS[@]}" test -x "$STATE" || fail "$RUN_AS cannot enter $STATE: set STATE to a folder that it can enter"
  for name in $SETTINGS; do echo ": \"\${$name:=${!name}}\""; done >"$STATE/settings"
  alive haproxy || free "$RW_PORT" "$RO_PORT" "$STATS_PORT"
  [ "$NAMESPACES" != true ] || return 0 # the other ports are on addresses of their own
  alive etcd || free "$ETCD_PORT" "$ETCD_PEER"
  for n in $NODES; do alive "node$n" || free $((PG_BASE + n)) $((REST_BASE + n)); done
}
free() {
  local port
  for port; do ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || fail "port $port is in use: set BASE_PORT to another number"; done
}

# spawn NAME LOG COMMAND…: `exec`, so that the number in the file is the process's own and not a shell's.
spawn() { local name=$1 log=$2; shift 2; (exec setsid "$@" >>"$log" 2>&1 </dev/null) & echo $! >"$STATE/$name.pid"; }
# render FILE: replaces @NAME@ by the environment's NAME.
render() {
  awk '{ while (match($0, /@[A-Z_]+@/)) { k = substr($0, RSTART + 1, RLENGTH - 2)
    $0 = substr($0, 1, RSTART - 1) ENVIRON[k] substr($0, RSTART + RLENGTH) } print }' "$1"
}

start_etcd() {
  local client=http://$ETCD_ADDR:$ETCD_PORT peer=http://127.0.0.1:$ETCD_PEER
  spawn etcd "$STATE/log/etcd.log" "${AS[@]}" etcd --name e1 --data-dir "$STATE/etcd" --log-outputs stderr \
    --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "e1=$peer" --enable-v2=true
}
etcd_answers() { curl -sf -m 1 "http://$ETCD_ADDR:$ETCD_PORT/health" >/dev/null; }
# render_node N [FROM]: FROM is the node that it follows instead of the leader.
render_node() {
  local n=$1
  N=$n ADDR=$(addr "$n") REST=$((REST_BASE + n)) PG=$((PG_BASE + n)) ETCD=$ETCD_ADDR:$ETCD_PORT NODE=$STATE/node$n \
    TAGS="{${2:+ replicatefrom: node$2 }}" render patroni.yml.in >"$STATE/node$n/patroni.yml"
}
start_node() {
  local n=$1 in=()
  render_node "$n"
  [ "$NAMESPACES" != true ] || in=(ip netns exec "$(namespace "$n")")
  spawn "node$n" "$STATE/log/patroni$n.log" "${in[@]}" "${AS[@]}" "${SYSTEM[@]}" /usr/bin/patroni "$STATE/node$n/patroni.yml"
}
start_haproxy() {
  SERVERS=$(for n in $NODES; do echo "    server node$n $(addr "$n"):$((PG_BASE + n)) check port $((REST_BASE + n))"; done)
  SERVERS=$SERVERS render haproxy.cfg.in >"$STATE/haproxy.cfg"
  "${AS[@]}" haproxy -c -q -f "$STATE/haproxy.cfg" || fail "HAProxy refuses $STATE/haproxy.cfg"
  spawn haproxy "$STATE/log/haproxy.log" "${AS[@]}" haproxy -db -f "$STATE/haproxy.cfg"
}

# A bridge, and for each node a namespace with one end of a cable in it.
namespace() { echo "pg$BASE_PORT-$1"; }
cable() { echo "pg$BASE_PORT.$1"; }
connect_namespaces() {
  [ "$NAMESPACES" = true ] || return 0
  local bridge n; bridge=$(cable br)
  [ ! -e "/sys/class/net/$bridge" ] || return 0
  ip link add "$bridge" type bridge; ip addr add "$ETCD_ADDR/24" dev "$bridge"; ip link set "$bridge" up
  for n in $NODES; do
    ip netns add "$(namespace "$n")"
    ip link add "$(cable "$n")" type veth peer name eth0 netns "$(namespace "$n")"
    ip link set "$(cable "$n")" master "$bridge" up
    ip netns exec "$(namespace "$n")" sh -c "ip link set lo up; ip addr add $(addr "$n")/24 dev eth0; ip link set eth0 up"
  done
}
remove_namespaces() {
  [ "$NAMESPACES" = true ] || return 0
  for n in $NODES; do ip netns del "$(namespace "$n")" 2>/dev/null || true; done
  ip link del "$(cable br)" 2>/dev/null || true
}
set_cable() { [ "$NAMESPACES" = true ] || fail "only with NAMESPACES=true a node can be disconnected"; ip link set "$(cable "$1")" "$2"; }

# ask N METHOD PATH [arguments of curl]
ask() { local n=$1 method=$2 path=$3; shift 3; curl -s -m 2 -X "$method" "$@" "http://$(addr "$n"):$((REST_BASE + n))/$path"; }
# The first node for which Patroni answers 200 to the path.
who() {
  local n
  for n in $NODES; do
    [ "$(curl -s -m 1 -o /dev/null -w '%{http_code}' "http://$(addr "$n"):$((REST_BASE + n))/$1")" != 200 ] || { echo "$n"; return; }
  done
  return 1
}
psql_node() { local n=$1; shift; PGPASSWORD=$SUPER_PASSWORD PGCONNECT_TIMEOUT=3 psql -X -h "$(addr "$n")" -p $((PG_BASE + n)) -U postgres "$@"; }
ctl() { local any; any=$(find "$STATE" -path '*/node*/patroni.yml' | head -1); "${SYSTEM[@]}" /usr/bin/patronictl -c "$any" "$@"; }
# Every other node streams from the leader, SYNC_COUNT of them synchronously, and HAProxy leads to the leader.
healthy() {
  local l want; l=$(who primary) || return 1
  want="$(($(wc -w <<<"$NODES") - 1))|t"
  [ "$(psql_node "$l" -At 2>/dev/null <<<"SELECT count(*), count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) >= $SYNC_COUNT
    FROM pg_stat_replication WHERE state = 'streaming' AND application_name LIKE 'node%'")" = "$want" ] && who sync >/dev/null || return 1
  [ "$(PGPASSWORD=$SUPER_PASSWORD PGCONNECT_TIMEOUT=3 psql -X -At -h 127.0.0.1 -p "$RW_PORT" -U postgres -c 'SELECT pg_is_in_recovery()' 2>/dev/null)" = f ]
}
create_database() {
  local l role; l=$(who primary)
  [ -z "$(psql_node "$l" -Atc "SELECT 1 FROM pg_database WHERE datname = 'savings'")" ] || return 0
  psql_node "$l" -q -v ON_ERROR_STOP=1 -f ../../deploy/postgres/roles.sql
  for role in savings savings_api savings_indexer savings_operator savings_read_only; do
    psql_node "$l" -qc "ALTER ROLE $role PASSWORD '$APP_PASSWORD'"
  done
  psql_node "$l" -qc "CREATE DATABASE savings OWNER savings"
}

# A leader that stops ends commits which wait for their standby, and their clients do not learn how they ended. So it
# refuses writes first, and stops when none is under way. Refused writes were not done, and the service repeats them, for
# 3.6 s: what takes long comes before. Starting patronictl takes a second, so Patroni is asked directly.
switchover() {
  NEW=$1 OTHERS=
  [ -n "$NEW" ] || fail 'there is no synchronous standby'
  OLD=$(who primary) || fail 'there is no leader'
  [ "$NEW" != "$OLD" ] || fail "node$NEW is the leader already"
  local n asked
  for n in $NODES; do
    [ "$n" = "$NEW" ] || [ "$n" = "$OLD" ] || ! ask "$n" OPTIONS replica -f || OTHERS+=" $n"
  done
  writable "$NEW" # if an earlier switchover was killed
  trap restore EXIT; trap 'exit 1' HUP INT TERM
  # The new leader's commits need a standby. Patroni leads one to it 2 s after the promotion; who follows it already stays.
  for n in $OTHERS; do follow "$n" "$NEW"; done
  for n in $OTHERS; do
    until_true 20 follows "$n" "$NEW" || echo "node$n does not follow node$NEW, so writes wait longer" >&2
  done
  psql_node "$OLD" -qc CHECKPOINT
  until_true 10 no_writes "$OLD" 1 || fail 'a transaction that writes has lasted longer than 10 s: try again after it'
  psql_node "$OLD" -qAt -c "ALTER SYSTEM SET default_transaction_read_only = on" -c "SELECT pg_reload_conf()" >/dev/null
  until_true 2 no_writes "$OLD" || fail 'a transaction still writes after 2 s: try again'
  ask "$OLD" POST switchover -m 60 -w '\n%{http_code}' -d "{\"leader\": \"node$OLD\", \"candidate\": \"node$NEW\"}" >"$STATE/answer" &
  asked=$!
  # Patroni looks for a free lock once per LOOP_WAIT, and when it is sent settings, even if that changes nothing.
  until ask "$NEW" OPTIONS primary -f || ! kill -0 $asked 2>/dev/null; do
    ask "$NEW" PATCH config -d '{"wake": null}' >/dev/null || true
    sleep 0.1
  done
  wait $asked || true
  [ "$(tail -1 "$STATE/answer")" = 200 ] || fail "no switchover: $(head -1 "$STATE/answer")"
  head -1 "$STATE/answer"
}
# follow N [FROM]: makes a standby follow that node, or else the leader.
follow() { render_node "$@"; ask "$1" POST reload >/dev/null || true; }
follows() { [ "$(psql_node "$2" -Atc "SELECT 1 FROM pg_stat_replication WHERE application_name = 'node$1' AND state = 'streaming'")" = 1 ]; }
# Also after a switchover that failed or was interrupted.
restore() {
  trap '' HUP INT TERM
  local n
  for n in $OTHERS; do follow "$n"; done
  writable "$OLD"
}
# The setting is in a file of the node itself, which may be starting.
writable() {
  until_true 60 psql_node "$1" -qAt -c "ALTER SYSTEM RESET default_transaction_read_only" -c "SELECT pg_reload_conf()" >/dev/null 2>&1 ||
    fail "node$1 still refuses writes: ALTER SYSTEM RESET default_transaction_read_only"
}
# no_writes N [SECONDS]: no transaction that has begun so long ago, or at all, has written.
no_writes() {
  [ "$(psql_node "$1" -Atc "SELECT count(*) FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname = 'savings'
    AND xact_start <= clock_timestamp() - make_interval(secs => ${2:-0})")" = 0 ]
}

# The file outlives a killed server, and its number may then belong to any other process.
postmaster() {
  local p; p=$(head -1 "$STATE/node$1/data/postmaster.pid" 2>/dev/null) || return 1
  grep -qs "$STATE/node$1/data" "/proc/$p/cmdline" && echo "$p"
}
postgres_pids() { local p; p=$(postmaster "$1") && { echo "$p"; pgrep -P "$p" || true; }; }
pids() { ! alive "node$1" || cat "$STATE/node$1.pid"; postgres_pids "$1" || true; }
# Parents first, and only then their children are listed: a stopped process starts no further ones.
signal() {
  local signal=$1 n=$2 part=${3:-node} p
  [ "$part" = postgres ] || ! alive "node$n" || kill "$signal" "$(cat "$STATE/node$n.pid")"
  [ "$part" != patroni ] || return 0
  p=$(postmaster "$n") || return 0
  [ "$signal" = -CONT ] || kill -STOP "$p" 2>/dev/null || return 0
  for p in $p $(pgrep -P "$p" || true); do kill "$signal" "$p" 2>/dev/null || true; done
}

# For commands to a node: without its folder they would do nothing, and look as if they had.
known() {
  [[ " $NODES " == *" ${1:-} "* ]] || fail "there is no node '${1:-}': one of $NODES"
  [ -d "$STATE/node$1" ] || fail "no cluster was started in $STATE: run \`up\` first, or set STATE to its folder"
}

export_settings() { local name; for name in $SETTINGS STATE PG_BIN; do export "${name?}"; done; }
export_settings
case ${1:-} in pids|postmaster|kill|freeze|wake|cut|heal) known "${2:-}" ;; esac
case ${1:-} in
  check) shift; check "$@" ;;
  up)
    check; prepare; connect_namespaces
    alive etcd || start_etcd; until_true 20 etcd_answers || fail "etcd does not answer, see $STATE/log/etcd.log"
    for n in $NODES; do alive "node$n" || start_node "$n"; done
    alive haproxy || start_haproxy
    until_true 120 healthy || fail "the nodes do not find together, see $STATE/log"
    create_database
    ctl list; echo "leader: node$(who primary); migrations connect to $RW_URL, the API to $API_URL, the indexer to $INDEXER_URL" ;;
  down)
    stop_process haproxy
    for n in $NODES; do signal -CONT "$n"; done
    for n in $NODES; do alive "node$n" && kill "$(cat "$STATE/node$n.pid")"; done || true
    for n in $NODES; do stop_process "node$n"; done; stop_process etcd; remove_namespaces ;;
  destroy)
    for n in $NODES; do signal -KILL "$n"; done
    for p in etcd haproxy service/{api1,api2,api3,indexer1,indexer2,anvil}; do stop_process "$p" -KILL; done
    remove_namespaces; rm -rf "${STATE:?}" ;;
  wait) until_true "${2:-120}" healthy || fail "not every node follows: $(ctl list)" ;;
  leader) who primary ;;
  sync) who sync ;;
  status) ctl list ;;
  psql) shift; psql_node "$@" ;;
  ctl) shift; ctl "$@" ;;
  rest) ask "$2" GET "$3" ;;
  switchover) switchover "${2:-$(who sync)}" ;;
  start) case $2 in etcd) start_etcd ;; haproxy) start_haproxy ;; *) start_node "$2" ;; esac ;;
  stop) stop_process "$2" "${3:--TERM}" ;;
  pids) pids "$2" ;;
  postmaster) postmaster "$2" ;;
  kill) signal -KILL "$2" "${3:-node}" ;;
  freeze) signal -STOP "$2" "${3:-node}" ;;
  wake) signal -CONT "$2" ;;
  cut) set_cable "$2" down ;;
  heal) set_cable "$2" up ;;
  *) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${0##*/}"; exit 2 ;;
esac
