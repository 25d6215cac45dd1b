import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import type { Block } from '#indexer/reading/raw-chain';

interface Row {
  number: string;
  hash: string;
  parent_hash: string;
  time: string;
}

/** The headers of the last blocks, by which a reorganisation is followed. */
export class KeptBlocks {
  constructor(private readonly client: Client) {}

  /** Newest first; block 0 comes last. @param below only blocks before this one */
  async newest(count: number, below = Number.MAX_SAFE_INTEGER): Promise<Block[]> {
    const { rows } = await this.client.query<Row>(NEWEST, [count, below]);
    return rows.map((row) => ({
      number: Number(row.number),
      hash: row.hash,
      parentHash: row.parent_hash,
      time: Number(row.time),
    }));
  }

  async hashAt(number: number): Promise<string | undefined> {
    const { rows } = await this.client.query<{ hash: string }>(HASH_AT, [number]);
    return rows[0]?.hash;
  }

  async keep(blocks: Block[]): Promise<void> {
    await this.client.query(KEEP, columnsOf(blocks, 'number', 'hash', 'parentHash', 'time'));
  }

  /** Drops the blocks before this one, but for the last block in effect, whose time is needed, and block 0. */
  async drop(before: number, applied: number): Promise<void> {
    await this.client.query(DROP, [before, applied]);
  }
}

const NEWEST = `
  SELECT number, hash, parent_hash, extract(epoch FROM time)::bigint AS time FROM chain_blocks
  WHERE number < $2 ORDER BY number DESC LIMIT $1`;
const HASH_AT = 'SELECT hash FROM chain_blocks WHERE number = $1';
/** Parameters: numbers, hashes, parent hashes, times. */
const KEEP = `
  INSERT INTO chain_blocks (number, hash, parent_hash, time)
  SELECT number, hash, parent_hash, to_timestamp(time)
  FROM unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) AS b(number, hash, parent_hash, time)
  ON CONFLICT DO NOTHING`;
/** Block 0 stays: it identifies the chain. */
const DROP = 'DELETE FROM chain_blocks WHERE number < $1 AND number > 0 AND number <> $2';
