import { Injectable, Logger } from '@nestjs/common';
import { setTimeout as sleep } from 'node:timers/promises';
import { IndexerSettings } from '#settings/indexer.settings';
import { openCursor } from '#indexer/agreement/chain-identity';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { LeadershipLost } from '#indexer/ledger/chain-cursor';
import { type Lead, LeadConnection } from './leader';
import { Recovery, mayPass } from './recovery';

/** How long it tries, and the time between two tries. */
const PATIENCE_MS = 30_000;
const RETRY_MS = 500;

/** The operator's commands `rewind --to N` and `rewind --contract ADDRESS [--to N]`. */
@Injectable()
export class Rewind {
  private readonly logger = new Logger(Rewind.name);

  constructor(
    private readonly environment: IndexerSettings,
    private readonly connection: LeadConnection,
    private readonly endpoints: RpcEndpoints,
    private readonly recovery: Recovery,
  ) {}

  /**
   * Undoes everything after a block. This is exact at any depth, as events are kept. Tries again, for 30 seconds, when
   * the node or the database gives a reason that may pass, or the leader has taken the cursor back.
   * @param number undefined: the block before the first that the contract is read from
   * @param contract whose events alone are undone; it then catches up with the others, which stay
   * @returns how many events were undone
   * @throws when the cursor is before that block, or the node has other blocks than the database
   */
  async to(number: number | undefined, contract?: string): Promise<number> {
    const end = performance.now() + PATIENCE_MS;
    for (;;)
      try {
        return await this.connection.use((lead) => this.rewind(lead, number, contract));
      } catch (error) {
        const isPassing = mayPass(error) || error instanceof LeadershipLost;
        if (!isPassing || performance.now() > end) throw error;
        this.logger.warn(`waiting: ${error.message}`);
        await sleep(RETRY_MS);
      }
  }

  private async rewind(lead: Lead, to: number | undefined, contract?: string): Promise<number> {
    const { client, writer } = lead;
    const { endpoints, environment } = this;
    const reader = await endpoints.identify(await writer.knownChain());
    // The new epoch makes the current leader start over from the new cursor.
    const cursor = await openCursor(client, writer, reader, endpoints, environment);
    const { first = 0, last: end } = contract === undefined ? {} : await this.blocksOf(lead, contract);
    const number = to ?? Math.max(first - 1, 0);
    if (number > cursor.number) throw new Error(`the cursor is at block ${cursor.number} only`);
    if (end !== undefined && number > end) throw new Error(`${contract} is at block ${end} only`);
    const last = await writer.eventBlock(number);
    const kept = await writer.blocks.hashAt(number);
    const known = [...(kept ? [{ number, hash: kept }] : []), ...(last ? [last] : [])];
    const [block, ...headers] = await endpoints.blocks([number, ...known.map((each) => each.number)]);
    if (!block) throw new Error(`the node has no block ${number}`);
    const other = known.find(({ hash }, i) => headers[i]?.hash !== hash);
    if (other) throw new Error(`the node has another block ${other.number}: rewind to before it`);
    if (contract === undefined) return (await this.recovery.rewindTo(writer, cursor, block)).undone;
    const undone = await lead.contracts.takeBack(cursor, contract, block, 'taken back by hand');
    this.logger.warn(`${contract} is back at block ${number}: ${undone} events undone`);
    return undone;
  }

  /**
   * The first block that the contract is read from and, while it is detached, the last one that was read for it.
   * @throws when it is not a followed contract
   */
  private async blocksOf({ client }: Lead, contract: string): Promise<{ first: number; last?: number }> {
    const { rows } = await client.query<Record<'first' | 'last', string | null>>(
      `SELECT min(from_block) AS first, (SELECT block_number FROM chain_contracts_apart WHERE address = $1) AS last
       FROM chain_contracts WHERE address = $1`,
      [contract],
    );
    const [{ first, last }] = rows;
    if (first === null) throw new Error(`${contract} is none of the contracts that are followed`);
    return { first: Number(first), last: last === null ? undefined : Number(last) };
  }
}
