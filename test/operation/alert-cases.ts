/** What Prometheus has scraped, every 15 seconds, and whether an alert fires at that time in the namespace p. */
export interface AlertCase {
  alert: string;
  why: string;
  fires: boolean;
  at: string;
  series: Record<string, string>;
}

const named = (series: Record<string, string>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(series).map(([name, values]) => {
      if (name.includes('namespace=')) return [name, values];
      const [metric, labels = '}'] = name.split('{');
      return [`${metric}{namespace="p"${labels === '}' ? '' : ','}${labels}`, values];
    }),
  );
const make =
  (fires: boolean) =>
  (alert: string, at: string, series: Record<string, string>, why = 'as it says'): AlertCase => ({
    alert,
    why,
    fires,
    at,
    series: named(series),
  });
const fires = make(true);
const silent = make(false);

const LEADER = { 'indexer_leader{instance="i"}': '1x1200' };
const count = (status: number, route = '/pools'): string =>
  `http_request_duration_seconds_count{job="api",route="${route}",status="${status}"}`;
const fast = (route = '/pools'): string =>
  `http_request_duration_seconds_bucket{job="api",route="${route}",le="0.5",status="200"}`;
const BAD = { [count(200)]: '0+100x1000', [count(503)]: '0+5x1000' };
const SLOW = { [count(200)]: '0+100x1000', [fast()]: '0+75x1000' };
const SUFFIXES = [
  ['BurnsFast', '30m'],
  ['Burns', '1h'],
  ['BurnsSlowly', '2h'],
  ['WillBeGone', '4h'],
];

export const CASES: AlertCase[] = [
  ...SUFFIXES.flatMap(([suffix, at]) => [
    fires(`ErrorBudget${suffix}`, at, BAD),
    fires(`LatencyBudget${suffix}`, at, SLOW),
    silent(`ErrorBudget${suffix}`, at, { [count(200)]: '0+10000x1000', [count(503)]: '0+5x1000' }, 'within'),
    silent(`LatencyBudget${suffix}`, at, { [count(200)]: '0+1000x1000', [fast()]: '0+995x1000' }, 'within'),
  ]),
  silent(
    'ErrorBudgetBurnsFast',
    '30m',
    { [count(200)]: '0+0.05x400', [count(503)]: '0x60 1x400' },
    'one at night',
  ),
  silent(
    'ErrorBudgetBurnsFast',
    '2h',
    { [count(200)]: '0+100x600', [count(503, '/health/ready')]: '0+50x600' },
    'probes',
  ),
  silent(
    'LatencyBudgetBurnsFast',
    '2h',
    { ...SLOW, [fast()]: '0+100x600', [count(200, '/events')]: '0+9x600', [fast('/events')]: '0x600' },
    'streams',
  ),
  fires('ApiAbsent', '5m', { 'up{job="api"}': '0x40', 'up{job="indexer"}': '1x40' }),
  fires(
    'ApiAbsent',
    '20m',
    { 'up{job="api"}': '1x8 _x90', 'up{namespace="q",job="api"}': '1x90' },
    'of one namespace',
  ),
  silent(
    'ApiAbsent',
    '5m',
    { 'up{job="api",instance="a"}': '0x40', 'up{job="api",instance="b"}': '1x40' },
    'one is up',
  ),
  fires('IndexerAbsent', '5m', { 'up{job="indexer"}': '0x40', 'up{job="api"}': '1x40' }),
  silent('IndexerAbsent', '90s', { 'up{job="indexer"}': '1 0 1x40' }, 'a blip'),
  fires('TargetDown', '10m', { 'up{job="keeper",instance="k"}': '0x40' }),
  silent('TargetDown', '4m', { 'up{job="keeper",instance="k"}': '0x40' }, 'a restart'),
  fires('IndexerNoStandby', '20m', {
    'up{job="indexer",instance="a"}': '1x90',
    'up{job="indexer",instance="b"}': '0x90',
  }),
  silent(
    'IndexerNoStandby',
    '20m',
    { 'up{job="indexer",instance="a"}': '1x90', 'up{job="indexer",instance="b"}': '1x90' },
    'two',
  ),
  fires('CertificateExpires', '70m', { 'probe_ssl_earliest_cert_expiry{instance="h"}': '864000x300' }),
  fires(
    'CertificateExpires',
    '70m',
    { 'certmanager_certificate_expiration_timestamp_seconds{name="c"}': '864000x300' },
    'cert-manager',
  ),
  silent(
    'CertificateExpires',
    '70m',
    { 'probe_ssl_earliest_cert_expiry{instance="h"}': '2592000x300' },
    'in a month',
  ),
  fires('DatabaseConnectionsExhausted', '5m', { 'database_connections{job="api",state="waiting"}': '3x40' }),
  silent(
    'DatabaseConnectionsExhausted',
    '5m',
    { 'database_connections{job="api",state="waiting"}': '3 0x40' },
    'a blip',
  ),
  fires('DatabaseClockOff', '10m', { 'database_clock_offset_seconds{instance="a"}': '-2x90' }),
  silent('DatabaseClockOff', '10m', { 'database_clock_offset_seconds{instance="a"}': '0.2x90' }, 'little'),
  fires('EventLoopBlocked', '10m', { 'nodejs_eventloop_lag_p99_seconds{job="api"}': '0.3x90' }),
  fires('MemoryNearLimit', '15m', { 'process_resident_memory_bytes{job="api"}': '480000000x90' }),
  fires('RestartsOften', '20m', { 'process_start_time_seconds{job="api"}': '1 1 2 2 3 3 4x90' }),
  silent('RestartsOften', '20m', { 'process_start_time_seconds{job="api"}': '1 1 2x90' }, 'a rollout'),
  fires('SignInsRefused', '30m', {
    'sign_ins_total{result="domain"}': '0+10x200',
    'sign_ins_total{result="success"}': '0+1x200',
  }),
  silent(
    'SignInsRefused',
    '30m',
    { 'sign_ins_total{result="domain"}': '0+10x200', 'sign_ins_total{result="success"}': '0+10x200' },
    'half',
  ),
  fires('DeletionStandsStill', '75m', { 'account_deletion_age_seconds{instance="a"}': '0+15x400' }),
  silent(
    'DeletionStandsStill',
    '75m',
    { 'account_deletion_age_seconds{instance="a"}': '600x400' },
    'minutes',
  ),
  fires('OperationNotEnded', '20m', { 'operator_record_open_seconds{instance="a"}': '15000x90' }),
  silent(
    'OperationNotEnded',
    '20m',
    { 'operator_record_open_seconds{instance="a"}': '7200x90' },
    'a long replay',
  ),
  fires('RequestsLimited', '30m', { [count(200)]: '0+20x200', [count(429)]: '0+20x200' }),
  fires('OutboxBehind', '15m', { 'outbox_lag_seconds{consumer="webhooks"}': '0+15x90' }),
  silent('OutboxBehind', '15m', { 'outbox_lag_seconds{consumer="webhooks"}': '0x20 90x4 0x90' }, 'a minute'),
  fires('OutboxFails', '25m', { 'outbox_failures_total{consumer="webhooks"}': '0+1x120' }),
  fires('EventSetAside', '5m', { 'outbox_set_aside_total{consumer="webhooks"}': '0 0 1x90' }),
  fires('WebhooksFail', '40m', {
    'webhook_attempts_total{outcome="failed"}': '0+9x200',
    'webhook_attempts_total{outcome="delivered"}': '0+1x200',
  }),
  silent(
    'WebhooksFail',
    '40m',
    {
      'webhook_attempts_total{outcome="failed"}': '0+9x200',
      'webhook_attempts_total{outcome="delivered"}': '0+90x200',
    },
    'one receiver',
  ),
  fires('IndexerWithoutLeader', '3m', {
    'indexer_leader{instance="i"}': '0x40',
    'indexer_leader{namespace="q",instance="j"}': '1x40',
  }),
  fires('IndexerTwoLeaders', '3m', {
    'indexer_leader{instance="i"}': '1x40',
    'indexer_leader{instance="j"}': '1x40',
  }),
  silent(
    'IndexerTwoLeaders',
    '3m',
    { 'indexer_leader{instance="i"}': '1x40', 'indexer_leader{namespace="q",instance="j"}': '1x40' },
    'two installations',
  ),
  fires('IndexerBehind', '10m', { ...LEADER, 'indexer_lag_seconds{instance="i"}': '200x90' }),
  silent(
    'IndexerBehind',
    '10m',
    { ...LEADER, 'indexer_lag_seconds{instance="standby"}': '200x90' },
    'not the leader',
  ),
  fires('IndexerNotReading', '3m', { ...LEADER, 'indexer_progress_age_seconds{instance="i"}': '25x40' }),
  silent(
    'IndexerNotReading',
    '45s',
    { ...LEADER, 'indexer_progress_age_seconds{instance="i"}': '0 0 10 25 0x40' },
    'a blip',
  ),
  fires('IndexerEndpointUnwell', '10m', {
    ...LEADER,
    'indexer_endpoint_state{instance="i",endpoint="e",state="behind"}': '1x90',
  }),
  fires('IndexerEndpointsDisagree', '8m', { 'indexer_endpoint_disagreements_total{endpoint="e"}': '0+1x90' }),
  fires('IndexerStuck', '20m', { ...LEADER, 'indexer_cursor_block{instance="i"}': '7x90' }),
  silent('IndexerStuck', '20m', { ...LEADER, 'indexer_cursor_block{instance="i"}': '7+1x90' }, 'reads'),
  fires('DeepReorganisation', '5m', {
    'indexer_reorg_depth_count{instance="i"}': '0 0 1x40',
    'indexer_reorg_depth_bucket{instance="i",le="8"}': '0x40',
  }),
  silent(
    'DeepReorganisation',
    '5m',
    {
      'indexer_reorg_depth_count{instance="i"}': '0 0 1x40',
      'indexer_reorg_depth_bucket{instance="i",le="8"}': '0 0 1x40',
    },
    'a small one',
  ),
  fires('IndexerGaps', '5m', { 'indexer_gaps_total{instance="i"}': '0 0 1x40' }),
  fires('ContractMissing', '10m', {
    ...LEADER,
    'indexer_contract_state{instance="i",contract="c",state="missing"}': '1x90',
  }),
  silent(
    'ContractMissing',
    '10m',
    { ...LEADER, 'indexer_contract_state{instance="i",contract="c",state="missing"}': '1x8 0x80' },
    'deployed a little later',
  ),
  silent(
    'ContractApart',
    '15m',
    { ...LEADER, 'indexer_contract_state{instance="i",contract="c",state="missing"}': '1x90' },
    'has an alert of its own',
  ),
  fires('ContractApart', '15m', {
    ...LEADER,
    'indexer_contract_state{instance="i",contract="c",state="quarantined"}': '1x90',
  }),
  fires('IndexerAnomalies', '5m', { 'indexer_anomalies_total{kind="k"}': '0 0 1x40' }),
  fires('IndexerEventsSetAside', '5m', { 'indexer_set_aside_events{reason="failed"}': '1x40' }),
  silent(
    'IndexerEventsSetAside',
    '5m',
    { 'indexer_set_aside_events{reason="unknown_pool"}': '1x40' },
    'not ours',
  ),
  fires('LedgerDiffers', '5m', { 'indexer_verify_differences{kind="pools.balance"}': '1x40' }),
  fires('VerificationStopped', '90m', { 'indexer_verified_pools_total{instance="i"}': '5x400' }),
  fires(
    'VerificationStopped',
    '90m',
    { 'indexer_verified_pools_total{instance="i"}': '0x400', 'indexer_events_total{kind="k"}': '1x400' },
    'never any',
  ),
  silent('VerificationStopped', '90m', { 'indexer_verified_pools_total{instance="i"}': '0x400' }, 'no pools'),
  fires('IndexerRetries', '30m', { 'indexer_retries_total{kind="k"}': '0+15x200' }),
  fires('PendingDepositsExpire', '5m', { 'indexer_expired_deposits_total{instance="i"}': '0+1x90' }),
  fires('KeeperCannotPay', '10m', { 'keeper_state{state="without_funds"}': '1x90' }),
  fires('KeeperOut', '15m', { 'up{job="api"}': '1x90' }),
  fires(
    'KeeperOut',
    '15m',
    { 'up{job="api"}': '1x90', 'keeper_state{state="disconnected"}': '1x90' },
    'no chain',
  ),
  silent(
    'KeeperOut',
    '15m',
    { 'up{job="api"}': '1x90', 'keeper_state{state="disconnected"}': '0x90' },
    'works',
  ),
  fires('KeeperLosesFees', '5m', { 'keeper_transactions_total{outcome="reverted"}': '0+1x90' }),
];
