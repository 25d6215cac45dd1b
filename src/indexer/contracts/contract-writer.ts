import type { Client } from 'pg';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { EventWriter } from '#indexer/ledger/event-writer';
import { type BlockBatch, ForkDetected } from '#indexer/reading/block-batch';
import type { Block } from '#indexer/reading/raw-chain';

export type ApartState = 'catching_up' | 'quarantined';

/** A contract whose events are read apart from the cursor's. */
export interface Apart {
  address: string;
  state: ApartState;
  /** The last block that was read for it. */
  at: Block;
  reason: string;
}

/** What writes to the ledger, for all contracts and for one of them. */
export interface Ledger {
  writer: EventWriter;
  contracts: ContractWriter;
}

/**
 * Writes what the chain says of one contract up to the cursor, which stays where it is. Each transaction holds the
 * cursor and moves the contract's own position by compare-and-set, so a second leader changes nothing.
 */
export class ContractWriter {
  constructor(
    private readonly client: Client,
    private readonly writer: EventWriter,
  ) {}

  async apart(): Promise<Apart[]> {
    const { rows } = await this.client.query<Omit<Apart, 'at'> & Record<'number' | 'hash' | 'time', string>>(`
      SELECT address, state, reason, block_number AS number, block_hash AS hash,
        extract(epoch FROM block_time)::bigint AS time FROM chain_contracts_apart ORDER BY address`);
    return rows.map(({ number, hash, time, ...apart }) => ({
      ...apart,
      at: { number: Number(number), hash, parentHash: '', time: Number(time) },
    }));
  }

  /** Has the contract read apart from now on, from behind this block. */
  async setApart(
    cursor: ChainCursor,
    address: string,
    at: Block,
    state: ApartState,
    reason: string,
  ): Promise<void> {
    await this.writer.holding(cursor, () => this.keep({ address, state, at, reason }));
  }

  /** Takes the contract's events after a block back, and nothing of others. @returns how many there were */
  async takeBack(cursor: ChainCursor, address: string, at: Block, reason: string): Promise<number> {
    return this.writer.holding(cursor, async () => {
      // First: it decides whether what is taken back is published.
      await this.keep({ address, state: 'catching_up', at, reason });
      const undone = await this.writer.undo(at.number, at.number, address);
      await this.client.query(FORGET_UNREAD, [address]);
      return undone;
    });
  }

  /**
   * Applies the next events of a contract apart. At the cursor's block it joins the others.
   * @param head the best head known
   * @param proven whether the batch proves that no event of the contract is missing up to its end
   * @returns what does not fit, by kind, and whether it has joined
   * @throws ForkDetected when the batch is of another branch than the ledger
   */
  async advance(
    cursor: ChainCursor,
    head: number,
    { address, at }: Apart,
    { to, events }: BlockBatch,
    proven: boolean,
  ): Promise<{ anomalies: Map<string, number>; joined: boolean }> {
    const joined = to.number === cursor.number;
    if (to.number > cursor.number || (joined && to.hash !== cursor.hash))
      throw new ForkDetected(`block ${to.number} is of another branch than the ledger`);
    return this.writer.holding(cursor, async () => {
      const moved = await this.client.query(MOVE, [address, ...valuesOf(to), at.number, at.hash]);
      if (moved.rowCount !== 1)
        throw new ForkDetected(`block ${to.number} is not behind the one where ${address} stands`);
      const { anomalies } = await this.writer.take(events, cursor, head);
      if (joined) await this.client.query(proven ? JOIN : JOIN_UNPROVEN, [address]);
      return { anomalies, joined };
    });
  }

  /** Records that the contract has logs with this topic that no method reads. */
  async keepUnread(contract: string, topic: string): Promise<void> {
    await this.client.query(KEEP_UNREAD, [contract, topic]);
  }

  private async keep({ address, state, at, reason }: Apart): Promise<void> {
    await this.client.query(KEEP, [address, ...valuesOf(at), state, reason]);
  }
}

const valuesOf = ({ number, hash, time }: Block): unknown[] => [number, hash, time];

/** Parameters: address; number, hash and time of the block; state, reason. */
const KEEP = `
  INSERT INTO chain_contracts_apart AS a (address, block_number, block_hash, block_time, state, reason)
  VALUES ($1, $2, $3, to_timestamp($4::bigint), $5, $6)
  ON CONFLICT ON CONSTRAINT chain_contracts_apart_pkey DO UPDATE SET block_number = excluded.block_number,
    block_hash = excluded.block_hash, block_time = excluded.block_time, state = excluded.state,
    reason = excluded.reason, since = CASE a.state WHEN excluded.state THEN a.since ELSE now() END`;

/** Parameters: address; number, hash and time of the block; number and hash of the one before. */
const MOVE = `
  UPDATE chain_contracts_apart SET block_number = $2, block_hash = $3, block_time = to_timestamp($4::bigint)
  WHERE address = $1 AND block_number = $5 AND block_hash = $6
    AND NOT EXISTS (SELECT FROM chain_blocks b WHERE b.number = $2 AND b.hash <> $3)`;

/** Parameter: address. */
const JOIN = 'DELETE FROM chain_contracts_apart WHERE address = $1';
/** Nothing is proven of the contract after its last event. */
const JOIN_UNPROVEN = `
  WITH joined AS (DELETE FROM chain_contracts_apart WHERE address = $1)
  UPDATE chain_cursor SET proven_number = least(proven_number, coalesce(
    (SELECT e.block_number - 1 FROM chain_events e WHERE e.contract = $1 ORDER BY e.seq DESC LIMIT 1), 0))`;

/** Parameters: address, topic. */
const KEEP_UNREAD = `
  UPDATE chain_contracts SET unread_topics = unread_topics || $2::text
  WHERE address = $1 AND $2::text <> ALL (unread_topics)`;
/** For a contract that is read again. Parameter: address. */
const FORGET_UNREAD = `UPDATE chain_contracts SET unread_topics = '{}' WHERE address = $1`;
