#!/bin/bash
# Takes the cluster back to just before a mistake. deploy/RECOVERY.md says what to do when.
#
#   backup                            a base backup of the leader
#   find [MINUTES]                    transactions that removed tables or changed many rows, by the WAL of that time (120)
#   beside xid|time|lsn|name TARGET   recovers to just before the target, on a port of its own; the cluster stays as it is
#   bring-back                        copies pools that were created after the target from the leader
#   psql [arguments]                  psql on the recovered server, as superuser
#   switch                            makes the recovered server the cluster, and moves the old data aside
#   discard                           removes the recovered server
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=cluster.env
. ./cluster.env
: "${PG_BIN:=$(find /usr/lib/postgresql -mindepth 2 -maxdepth 2 -name bin | sort -V | tail -1)}" "${DATABASE:=savings}"
BACKUPS=$STATE/backups BESIDE=$STATE/recovered BESIDE_PORT=$((PG_BASE + 9))
AS=(); [ "$(id -u)" != 0 ] || AS=(setpriv "--reuid=$RUN_AS" "--regid=$(id -g "$RUN_AS")" --init-groups)
say() { echo "recover: $*" >&2; }
die() { say "$*"; exit 1; }
folder() { mkdir -p "$1"; chmod 700 "$1"; [ "$(id -u)" != 0 ] || chown "$RUN_AS" "$1"; }
beside_runs() { [ -f "$BESIDE/data/postmaster.pid" ] && kill -0 "$(head -1 "$BESIDE/data/postmaster.pid")" 2>/dev/null; }
beside_psql() { PGPASSWORD=$SUPER_PASSWORD PGCONNECT_TIMEOUT=3 psql -X -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$BESIDE_PORT" -U postgres "$@"; }
stop_beside() { ! beside_runs || "${AS[@]}" "$PG_BIN/pg_ctl" -s -w -m fast -t 600 -D "$BESIDE/data" stop; }

# A base backup of the leader, checked against its manifest. WAL since the oldest backup has to stay in the archive.
backup() {
  local leader name; leader=$(./cluster.sh leader) || die 'no leader to back up'
  folder "$BACKUPS"; name=$BACKUPS/$(date -u +%Y%m%dT%H%M%SZ)
  "${AS[@]}" env PGPASSWORD="$REPL_PASSWORD" "$PG_BIN/pg_basebackup" -h "$(addr "$leader")" -p $((PG_BASE + leader)) -U replicator \
    -D "$name.part" -c fast -X stream
  "${AS[@]}" "$PG_BIN/pg_verifybackup" -q "$name.part"
  mv "$name.part" "$name"; echo "$name"
}

# Commits that removed files (DROP, TRUNCATE, some ALTER TABLE) or changed at least 100 rows, with what to give `beside`.
find_moment() {
  local segments; segments=$(find "$STATE/archive" "$STATE"/node*/data/pg_wal -maxdepth 1 -type f -regex '.*/[0-9A-F]+\(\.partial\)?' \
    -mmin "-${1:-120}" -printf '%f %p\n' 2>/dev/null | sort -u -k1,1 | cut -d' ' -f2-)
  [ -n "$segments" ] || die "no WAL of the last ${1:-120} minutes"
  echo "time (UTC)                  xid         lsn          inserted  updated  deleted  files removed"
  for segment in $segments; do TZ=UTC "$PG_BIN/pg_waldump" "$segment" 2>/dev/null || true; done | awk '
    match($0, /tx: +[0-9]+/) { tx = substr($0, RSTART + 3, RLENGTH - 3) + 0 }
    /desc: (HOT_)?UPDATE/ { up[tx]++ }
    /desc: DELETE/ { del[tx]++ }
    /^rmgr: Heap .*desc: INSERT/ { ins[tx]++ }
    match($0, /desc: MULTI_INSERT.* ntuples: [0-9]+|desc: MULTI_INSERT\+INIT [0-9]+ tuples|desc: MULTI_INSERT [0-9]+ tuples/) {
      n = substr($0, RSTART, RLENGTH); gsub(/[^0-9]/, "", n); ins[tx] += n }
    /desc: COMMIT/ && !seen[tx]++ {
      files = ""
      if (match($0, /rels: [^;]*/)) {
        count = split(substr($0, RSTART + 6, RLENGTH - 6), rels, " ")
        for (i = 1; i <= count; i++) if (rels[i] !~ /\/t[0-9]+_/) files = files " " rels[i] }
      if (files == "" && ins[tx] + up[tx] + del[tx] < 100) next
      match($0, /lsn: [^,]+/); lsn = substr($0, RSTART + 5, RLENGTH - 5)
      match($0, /COMMIT [0-9-]+ [0-9:.]+/); at = substr($0, RSTART + 7, RLENGTH - 7)
      printf "%-27s %-11s %-12s %8d %8d %8d %s\n", at, tx, lsn, ins[tx], up[tx], del[tx], substr(files, 1, 60) }' | sort
}

# Recovers the newest backup from before the target on a port of its own, while the cluster stays as it is.
beside() {
  local kind=$1 target=$2 from='' each dirs='' node
  case $kind in xid | time | lsn | name) ;; *) die "unknown target: $kind" ;; esac
  [ ! -e "$BESIDE" ] || die "$BESIDE is there already: switch to it, or discard it"
  for each in "$BACKUPS"/*Z; do
    [ -d "$each" ] || continue
    # For a target that is no time the newest backup fits, unless BACKUP names an older one.
    if [ "$kind" = time ] && [ "$(date -d "$target" +%s)" -le "$(date -r "$each/backup_manifest" +%s)" ]; then continue; fi
    from=$each
  done
  from=${BACKUP:-$from}; [ -n "$from" ] || die 'no backup from before that time'
  say "restoring $from up to just before $kind $target"
  folder "$BESIDE"; "${AS[@]}" cp -a "$from" "$BESIDE/data"; "${AS[@]}" touch "$BESIDE/data/recovery.signal"
  # PostgreSQL 15 takes even an empty target, as Patroni writes it, for a second one.
  "${AS[@]}" sed -i '/^recovery_target/d' "$BESIDE/data/postgresql.conf" "$BESIDE/data/postgresql.auto.conf"
  # The last segments may be in a node's pg_wal only, so those come after the archive.
  for node in $NODES; do dirs+=" '$STATE/node$node/data/pg_wal'"; done
  local inclusive=(); [ "$kind" = name ] || inclusive=(-c recovery_target_inclusive=off)
  (exec setsid "${AS[@]}" "$PG_BIN/postgres" -D "$BESIDE/data" -c port="$BESIDE_PORT" -c listen_addresses=127.0.0.1 \
    -c unix_socket_directories= -c archive_mode=off -c synchronous_standby_names= -c primary_conninfo= \
    -c restore_command="for d in '$STATE/archive' $dirs; do cp \"\$d/%f\" \"%p\" 2>/dev/null && exit 0; done; exit 1" \
    -c "recovery_target_$kind=$target" "${inclusive[@]}" -c recovery_target_action=promote \
    >>"$STATE/log/recovered.log" 2>&1 </dev/null) &
  local started=$!
  until [ "$(beside_psql -Atc 'SELECT pg_is_in_recovery()' 2>/dev/null)" = f ]; do
    kill -0 "$started" 2>/dev/null || { tail -5 "$STATE/log/recovered.log" >&2; die 'recovery failed: is the target after the backup, and the WAL complete?'; }
    sleep 0.5
  done
  grep -E 'recovery stopping|last completed transaction' "$STATE/log/recovered.log" | tail -2 >&2
  # Clients keep what they were told after the target: sessions, nonces, ids of events.
  beside_psql -q -d "$DATABASE" -c 'SELECT after_restore()' >/dev/null
  say "recovered on port $BESIDE_PORT. Look at it, run verify on it, then: $0 switch (or: $0 discard)"
}

# table NAME QUERY: a temporary table of the recovered server with the rows that the query finds on the old leader.
table() {
  echo "CREATE TEMPORARY TABLE $1 ON COMMIT DROP AS SELECT * FROM ($2) rows WHERE false; COPY $1 FROM STDIN;"
  ./cluster.sh psql "$OLD" -v ON_ERROR_STOP=1 -d "$DATABASE" -c "COPY ($2) TO STDOUT"
  echo '\.'
}
# In one transaction: if the mistake removed what this needs, nothing is copied.
bring_back() {
  beside_runs || die 'nothing was recovered beside the cluster'
  OLD=$(./cluster.sh leader) || die 'the old cluster has no leader'
  {
    echo 'BEGIN;'
    table old_users 'SELECT id, address, created_at, session_generation FROM users'
    table old_pools "SELECT p.id, p.type, p.owner_id, p.contract_address, p.auto_compound, ARRAY(SELECT address::text FROM pool_members m
      WHERE m.pool_id = p.id AND m.role = 'MEMBER') AS members, p.created_at, u.address, d.id AS deposit, d.requested_amount
      FROM pools p JOIN users u ON u.id = p.owner_id
      JOIN transactions d ON d.pool_id = p.id AND d.type = 'DEPOSIT' AND d.account = u.address AND d.requested_amount IS NOT NULL"
    table old_keys 'SELECT * FROM idempotency_keys'
    echo "DELETE FROM old_pools o USING pools p WHERE p.id = o.id;
      DELETE FROM old_keys k WHERE NOT EXISTS (SELECT FROM old_pools p WHERE k.response::json ->> 'id' = p.id::text);
      -- As after_restore does, this ends their sessions.
      INSERT INTO users (id, address, created_at, session_generation)
        SELECT id, address, created_at, greatest(session_generation + 1, floor(extract(epoch FROM clock_timestamp()) / 60)::integer)
        FROM old_users WHERE id IN (SELECT owner_id FROM old_pools) ON CONFLICT DO NOTHING;
      INSERT INTO new_pools
        SELECT array_agg(id), array_agg(type::text), array_agg(owner_id), array_agg(contract_address::text),
          array_agg(auto_compound), array_agg(members::text), array_agg(created_at), array_agg(address::text),
          array_agg(deposit), array_agg(requested_amount::numeric) FROM old_pools HAVING count(*) > 0;
      INSERT INTO idempotency_keys SELECT * FROM old_keys ON CONFLICT DO NOTHING;
      SELECT 'pools brought back: ' || count(*) FROM old_pools; COMMIT;"
  } | beside_psql -q -At -d "$DATABASE"
}

# The recovered server becomes the cluster. Until a standby is in step no write is acknowledged (synchronous_mode_strict).
switch() {
  local node stamp first old; first=${NODES%% *}
  beside_runs || die 'nothing was recovered beside the cluster'
  [ "$(beside_psql -Atc 'SELECT pg_is_in_recovery()')" = f ] || die 'the recovered server is still replaying'
  old=$(./cluster.sh leader) || old=$first
  ./cluster.sh stop haproxy
  for node in $NODES; do ./cluster.sh stop "node$node"; done
  stop_beside
  stamp=$(date -u +%Y%m%dT%H%M%SZ)
  # The next recovery must know the new timeline, even if it starts from an old backup.
  for node in "$BESIDE"/data/pg_wal/*.history; do [ ! -f "$node" ] || "${AS[@]}" cp -n "$node" "$STATE/archive/"; done
  # The cluster's settings as they are now, not as they were when the backup was made.
  "${AS[@]}" cp "$STATE/node$old/data/patroni.dynamic.json" "$BESIDE/data/" || die "node$old has no settings of the cluster"
  for node in $NODES; do [ ! -d "$STATE/node$node/data" ] || mv "$STATE/node$node/data" "$STATE/node$node/data.before-$stamp"; done
  mv "$BESIDE/data" "$STATE/node$first/data"; rmdir "$BESIDE"
  # Positions, and the list of nodes that may lead, belong to the old timeline.
  printf 'savings\nYes I am aware\n' | ./cluster.sh ctl remove savings >/dev/null
  # Alone at first: a node without data would found a new cluster.
  ./cluster.sh start "$first"
  until [ "$(./cluster.sh leader)" = "$first" ]; do sleep 0.5; done
  ./cluster.sh up
  ./cluster.sh ctl show-config | grep -q 'synchronous_mode: true' || die 'the cluster lost its settings: patronictl edit-config'
  say "switched. The old data is in node*/data.before-$stamp, the old leader was node$old"
  backup
}

case ${1:-} in
  backup) backup ;;
  find) find_moment "${2:-}" ;;
  beside) [ $# = 3 ] || die "usage: $0 beside xid|time|lsn|name TARGET"; beside "$2" "$3" ;;
  bring-back) bring_back ;;
  psql) shift; beside_psql "$@" ;;
  switch) switch ;;
  discard) stop_beside; rm -rf "${BESIDE:?}" ;;
  *) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${0##*/}"; exit 2 ;;
esac
