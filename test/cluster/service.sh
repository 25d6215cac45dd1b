#!/bin/bash
# The service on the cluster of this folder: a chain, the migrations, two APIs, two indexers. Settings: cluster.env.
#
#   up | down            starts the cluster and what of the service does not run; stops the service
#   start | stop NAME    anvil, api1 to api3, indexer1, indexer2; `stop NAME -KILL` kills it
set -euo pipefail
cd "$(dirname "$0")"
# shellcheck source=cluster.env
. ./cluster.env
: "${SVC:=$(cd ../.. && pwd)}"         # a built checkout of the service
: "${RPC_URL:=http://127.0.0.1:$ANVIL_PORT}"
: "${CHAIN_ID:=1}"
CLUSTER=$STATE; STATE=$STATE/service
DEPLOYMENT=$STATE/deployment.json
[ -f "$SVC/dist/src/main.js" ] || fail "build the service first: npm run build"

# The addresses of the contracts, as POOL_CONTRACTS wants them.
contracts() { node -p "Object.entries(require('$DEPLOYMENT').contracts).map((pair) => pair.join('=')).join(',')"; }
# service NAME PORT_VARIABLE ENTRY URL
service() {
  local name=$1 port=$2 entry=$3 url=$4
  NODE_ENV=production HOST=127.0.0.1 LOG_LEVEL=${LOG_LEVEL:-warn} DATABASE_URL=$url DATABASE_POOL_SIZE=${DATABASE_POOL_SIZE:-20} \
    JWT_SECRET=$(cat "$STATE/jwt-secret") SIWE_DOMAINS=${SIWE_DOMAINS:-app.example.org} CHAIN_ID=$CHAIN_ID \
    METRICS_TOKEN=${METRICS_TOKEN:-only-for-the-trial-cluster} RATE_LIMIT_GENERAL=1000000000 RATE_LIMIT_AUTH=1000000000 RPC_URL=$RPC_URL POOL_CONTRACTS=$(contracts) \
    setsid env "$port" node "$SVC/dist/src/$entry.js" >>"$STATE/$name.log" 2>&1 </dev/null &
  echo $! >"$STATE/$name.pid"
}
start() {
  case $1 in
    anvil)
      setsid "$SVC/node_modules/@foundry-rs/anvil-linux-amd64/bin/anvil" --host 127.0.0.1 --port "$ANVIL_PORT" \
        --chain-id "$CHAIN_ID" --hardfork cancun --silent --prune-history 400 >"$STATE/anvil.log" 2>&1 </dev/null &
      echo $! >"$STATE/anvil.pid" ;;
    api*) service "$1" "PORT=$((API_BASE + ${1#api}))" main "$API_URL" ;;
    indexer*) service "$1" "INDEXER_PORT=$((INDEXER_BASE + ${1#indexer}))" indexer "$INDEXER_URL" ;;
    *) fail "there is no $1" ;;
  esac
}
chain_answers() {
  curl -sf -o /dev/null -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' "$RPC_URL"
}
ready() { curl -sf -o /dev/null "http://127.0.0.1:$((API_BASE + ${1#api}))/health/ready"; }

case ${1:-} in
  up)
    STATE=$CLUSTER alive haproxy || STATE=$CLUSTER ./cluster.sh up
    mkdir -p "$STATE"
    [ -f "$STATE/jwt-secret" ] || (umask 077; echo "${JWT_SECRET:-$(head -c 32 /dev/urandom | base64)}" >"$STATE/jwt-secret")
    if ! alive anvil; then
      # A chain lives as long as its process, and a database belongs to one chain.
      [ ! -f "$DEPLOYMENT" ] || fail "the chain of this database has ended: ./cluster.sh destroy, and start again"
      start anvil; until_true 20 chain_answers || fail "the chain does not answer, see $STATE/anvil.log"
      (cd "$SVC" && node -e "require('./dist/src/dev/deploy.js').deployContracts('$RPC_URL')
        .then((deployment) => require('fs').writeFileSync('$DEPLOYMENT', JSON.stringify(deployment)))")
    fi
    (cd "$SVC" && DATABASE_URL=$RW_URL node dist/src/migrate.js >"$STATE/migrate.log" 2>&1) ||
      fail "a migration failed, see $STATE/migrate.log"
    for name in ${SERVICES:-api1 api2 indexer1 indexer2}; do alive "$name" || start "$name"; done
    for name in ${SERVICES:-api1 api2}; do
      case $name in api*) until_true 20 ready "$name" || fail "$name is not ready, see $STATE/$name.log" ;; esac
    done
    echo "API on ports $((API_BASE + 1)) and $((API_BASE + 2)), chain on $ANVIL_PORT" ;;
  down) for name in api1 api2 api3 indexer1 indexer2 anvil; do stop_process "$name"; done ;;
  stop) stop_process "$2" "${3:--TERM}" ;;
  start) start "$2" ;;
  *) sed -n '2,/^set /{/^set /!s/^# \{0,1\}//p}' "${0##*/}"; exit 2 ;;
esac
