import { Injectable } from '@nestjs/common';
import { Metrics } from '#platform/operating/metrics';
import type { JobKind } from './jobs';

/** idle: nothing is due. sending: a transaction waits for its block. The others keep what is due from being done. */
const STATES = ['idle', 'sending', 'over_budget', 'without_funds', 'disconnected'] as const;
export type KeeperState = (typeof STATES)[number];
/** How a transaction ended. lost: another one of the account took its place. */
export type Outcome = 'succeeded' | 'reverted' | 'lost';

/** Without a whole round for this long, the node counts as gone. */
const SILENT_MS = 60_000;

/** Health and metrics of the keeper. */
@Injectable()
export class KeeperTelemetry extends Metrics {
  private current: KeeperState = 'idle';
  private heardAt = Date.now();

  private readonly sent = this.counter('keeper_sent_total', 'Transactions sent, replacements too', 'kind');
  private readonly ended = this.counter(
    'keeper_transactions_total',
    'Transactions that are over, by outcome',
    'kind',
    'outcome',
  );
  private readonly spentEther = this.counter('keeper_spent_ether_total', 'Ether spent on transactions');
  private readonly balance = this.gauge('keeper_balance_ether', 'Ether of the account');

  constructor() {
    super('savings_build_info');
    this.states('keeper_state', '1 for the current state', ['state'], STATES, () => [[{}, this.state]]);
  }

  get state(): KeeperState {
    return Date.now() - this.heardAt > SILENT_MS ? 'disconnected' : this.current;
  }

  /** A round is over. @returns whether the state is another than before */
  became(state: KeeperState): boolean {
    const isNew = this.state !== state;
    this.heardAt = Date.now();
    this.current = state;
    return isNew;
  }

  hasBalance(wei: bigint): void {
    this.balance.set(inEther(wei));
  }

  hasSent(kind: JobKind): void {
    this.sent.inc({ kind });
  }

  hasEnded(kind: JobKind, outcome: Outcome, wei: bigint): void {
    this.ended.inc({ kind, outcome });
    this.spentEther.inc(inEther(wei));
  }
}

const inEther = (wei: bigint): number => Number(wei) / 1e18;
