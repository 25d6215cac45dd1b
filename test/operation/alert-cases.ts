/** What Prometheus has scraped, every 15 seconds, and whether an alert fires at that time in the namespace p. */
export interface AlertCase {
  alert: string;
  why: string;
  fires: boolean;
  at: string;
  series: { series: string; values: string }[];
}

const LEADER = 'indexer_leader{instance="i"} 1x1200';
const count = (status: number, route = '/pools'): string =>
  `http_request_duration_seconds_count{job="api",route="${route}",status="${status}"}`;
const fast = (route = '/pools'): string =>
  `http_request_duration_seconds_bucket{job="api",route="${route}",le="0.5",status="200"}`;

const budgets = (suffix: string, at: string): string => `
ErrorBudget${suffix} ${at}: ${count(200)} 0+100x1000; ${count(503)} 0+5x1000
LatencyBudget${suffix} ${at}: ${count(200)} 0+100x1000; ${fast()} 0+75x1000
not ErrorBudget${suffix} ${at} (within): ${count(200)} 0+10000x1000; ${count(503)} 0+5x1000
not LatencyBudget${suffix} ${at} (within): ${count(200)} 0+1000x1000; ${fast()} 0+995x1000`;

/** A case a line: the alert, whether it does `not` fire, when, why, the series. A leading space continues a line. */
const TABLE = `${budgets('BurnsFast', '30m')}${budgets('Burns', '1h')}
${budgets('BurnsSlowly', '2h')}${budgets('WillBeGone', '4h')}
not ErrorBudgetBurnsFast 30m (one at night): ${count(200)} 0+0.05x400; ${count(503)} 0x60 1x400
not ErrorBudgetBurnsFast 2h (probes): ${count(200)} 0+100x600; ${count(503, '/health/ready')} 0+50x600
not LatencyBudgetBurnsFast 2h (streams): ${count(200)} 0+100x1000; ${fast()} 0+100x600;
  ${count(200, '/events')} 0+9x600; ${fast('/events')} 0x600
ApiAbsent 5m: up{job="api"} 0x40; up{job="indexer"} 1x40
ApiAbsent 20m (of one namespace): up{job="api"} 1x8 _x90; up{namespace="q",job="api"} 1x90
not ApiAbsent 5m (one is up): up{job="api",instance="a"} 0x40; up{job="api",instance="b"} 1x40
IndexerAbsent 5m: up{job="indexer"} 0x40; up{job="api"} 1x40
not IndexerAbsent 90s (a blip): up{job="indexer"} 1 0 1x40
TargetDown 10m: up{job="keeper",instance="k"} 0x40
not TargetDown 4m (a restart): up{job="keeper",instance="k"} 0x40
IndexerNoStandby 20m: up{job="indexer",instance="a"} 1x90; up{job="indexer",instance="b"} 0x90
not IndexerNoStandby 20m (two): up{job="indexer",instance="a"} 1x90; up{job="indexer",instance="b"} 1x90
CertificateExpires 70m: probe_ssl_earliest_cert_expiry{instance="h"} 864000x300
CertificateExpires 70m (cert-manager): certmanager_certificate_expiration_timestamp_seconds{name="c"} 864000x300
not CertificateExpires 70m (in a month): probe_ssl_earliest_cert_expiry{instance="h"} 2592000x300
DatabaseConnectionsExhausted 5m: database_connections{job="api",state="waiting"} 3x40
not DatabaseConnectionsExhausted 5m (a blip): database_connections{job="api",state="waiting"} 3 0x40
DatabaseClockOff 10m: database_clock_offset_seconds{instance="a"} -2x90
not DatabaseClockOff 10m (little): database_clock_offset_seconds{instance="a"} 0.2x90
EventLoopBlocked 10m: nodejs_eventloop_lag_p99_seconds{job="api"} 0.3x90
MemoryNearLimit 15m: process_resident_memory_bytes{job="api"} 480000000x90
RestartsOften 20m: process_start_time_seconds{job="api"} 1 1 2 2 3 3 4x90
not RestartsOften 20m (a rollout): process_start_time_seconds{job="api"} 1 1 2x90
SignInsRefused 30m: sign_ins_total{result="domain"} 0+10x200; sign_ins_total{result="success"} 0+1x200
not SignInsRefused 30m (half): sign_ins_total{result="domain"} 0+10x200; sign_ins_total{result="success"} 0+10x200
DeletionStandsStill 75m: account_deletion_age_seconds{instance="a"} 0+15x400
not DeletionStandsStill 75m (minutes): account_deletion_age_seconds{instance="a"} 600x400
OperationNotEnded 20m: operator_record_open_seconds{instance="a"} 15000x90
not OperationNotEnded 20m (a long replay): operator_record_open_seconds{instance="a"} 7200x90
RequestsLimited 30m: ${count(200)} 0+20x200; ${count(429)} 0+20x200
OutboxBehind 15m: outbox_lag_seconds{consumer="webhooks"} 0+15x90
not OutboxBehind 15m (a minute): outbox_lag_seconds{consumer="webhooks"} 0x20 90x4 0x90
OutboxFails 25m: outbox_failures_total{consumer="webhooks"} 0+1x120
EventSetAside 5m: outbox_set_aside_total{consumer="webhooks"} 0 0 1x90
WebhooksFail 40m: webhook_attempts_total{outcome="failed"} 0+9x200;
  webhook_attempts_total{outcome="delivered"} 0+1x200
not WebhooksFail 40m (one receiver): webhook_attempts_total{outcome="failed"} 0+9x200;
  webhook_attempts_total{outcome="delivered"} 0+90x200
IndexerWithoutLeader 3m: indexer_leader{instance="i"} 0x40; indexer_leader{namespace="q",instance="j"} 1x40
IndexerTwoLeaders 3m: indexer_leader{instance="i"} 1x40; indexer_leader{instance="j"} 1x40
not IndexerTwoLeaders 3m (two installations): indexer_leader{instance="i"} 1x40;
  indexer_leader{namespace="q",instance="j"} 1x40
IndexerBehind 10m: ${LEADER}; indexer_lag_seconds{instance="i"} 200x90
not IndexerBehind 10m (not the leader): ${LEADER}; indexer_lag_seconds{instance="standby"} 200x90
IndexerNotReading 3m: ${LEADER}; indexer_progress_age_seconds{instance="i"} 25x40
not IndexerNotReading 45s (a blip): ${LEADER}; indexer_progress_age_seconds{instance="i"} 0 0 10 25 0x40
IndexerEndpointUnwell 10m: ${LEADER}; indexer_endpoint_state{instance="i",endpoint="e",state="behind"} 1x90
IndexerEndpointsDisagree 8m: indexer_endpoint_disagreements_total{endpoint="e"} 0+1x90
IndexerStuck 20m: ${LEADER}; indexer_cursor_block{instance="i"} 7x90
not IndexerStuck 20m (reads): ${LEADER}; indexer_cursor_block{instance="i"} 7+1x90
DeepReorganisation 5m: indexer_reorg_depth_count{instance="i"} 0 0 1x40;
  indexer_reorg_depth_bucket{instance="i",le="8"} 0x40
not DeepReorganisation 5m (a small one): indexer_reorg_depth_count{instance="i"} 0 0 1x40;
  indexer_reorg_depth_bucket{instance="i",le="8"} 0 0 1x40
IndexerGaps 5m: indexer_gaps_total{instance="i"} 0 0 1x40
ContractMissing 10m: ${LEADER}; indexer_contract_state{instance="i",contract="c",state="missing"} 1x90
not ContractMissing 10m (deployed a little later): ${LEADER};
  indexer_contract_state{instance="i",contract="c",state="missing"} 1x8 0x80
not ContractApart 15m (has an alert of its own): ${LEADER};
  indexer_contract_state{instance="i",contract="c",state="missing"} 1x90
ContractApart 15m: ${LEADER}; indexer_contract_state{instance="i",contract="c",state="quarantined"} 1x90
IndexerAnomalies 5m: indexer_anomalies_total{kind="k"} 0 0 1x40
IndexerEventsSetAside 5m: indexer_set_aside_events{reason="failed"} 1x40
not IndexerEventsSetAside 5m (not ours): indexer_set_aside_events{reason="unknown_pool"} 1x40
LedgerDiffers 5m: indexer_verify_differences{kind="pools.balance"} 1x40
VerificationStopped 90m: indexer_verified_pools_total{instance="i"} 5x400
VerificationStopped 90m (never any): indexer_verified_pools_total{instance="i"} 0x400;
  indexer_events_total{kind="k"} 1x400
not VerificationStopped 90m (no pools): indexer_verified_pools_total{instance="i"} 0x400
IndexerRetries 30m: indexer_retries_total{kind="k"} 0+15x200
PendingDepositsExpire 5m: indexer_expired_deposits_total{instance="i"} 0+1x90
KeeperCannotPay 10m: keeper_state{state="without_funds"} 1x90
KeeperOut 15m: up{job="api"} 1x90
KeeperOut 15m (no chain): up{job="api"} 1x90; keeper_state{state="disconnected"} 1x90
not KeeperOut 15m (works): up{job="api"} 1x90; keeper_state{state="disconnected"} 0x90
KeeperLosesFees 5m: keeper_transactions_total{outcome="reverted"} 0+1x90
`;

export const CASES = [
  ...TABLE.replaceAll('\n ', '').matchAll(/^(not )?(\w+) (\w+)(?: \((.+)\))?: (.+)$/gm),
].map(([, not, alert, at, why = 'as it says', all]): AlertCase => ({
  ...{ alert, why, at, fires: !not },
  series: all.split(/; +/).map((each) => {
    const [, metric, labels, values] = /^ *(\w+)\{(.*)\} (.*)$/.exec(each)!;
    const named = labels.includes('namespace=') ? labels : `namespace="p",${labels}`;
    return { series: `${metric}{${named}}`, values };
  }),
}));
