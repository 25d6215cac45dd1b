import type { Value } from './findings';
import { LOCK_CURSOR, type Look } from './look';

/**
 * The last blocks and the cursor, which hold some thousand rows at most: blocks link, their times do not fall, and the events in
 * them, the cursor and the chain's first block say the same. Row: kind, id, found, wanted.
 */
const COMPARE_BLOCKS = `
  SELECT 'chain_blocks.hash' AS kind, b.number::text AS id, b.hash AS found, n.parent_hash AS wanted
  FROM chain_blocks b JOIN chain_blocks n ON n.number = b.number + 1 WHERE n.parent_hash <> b.hash
  UNION ALL
  SELECT 'chain_blocks.time', number::text, time::text, 'not before ' || before
  FROM (SELECT number, time, lag(time) OVER (ORDER BY number) AS before FROM chain_blocks) b WHERE time < before
  UNION ALL
  SELECT 'chain_blocks.' || d.column_name, b.number::text, d.kept, d.recount
  FROM chain_blocks b CROSS JOIN LATERAL (
    SELECT e.block_hash, e.block_time FROM chain_events e WHERE e.block_number = b.number ORDER BY e.log_index LIMIT 1) e
  CROSS JOIN LATERAL (VALUES ('hash', b.hash, e.block_hash), ('time', b.time::text, e.block_time::text))
    AS d(column_name, kept, recount)
  WHERE d.kept <> d.recount
  UNION ALL
  SELECT 'chain_blocks.number', b.number::text, b.number::text, 'up to ' || c.block_number
  FROM chain_cursor c JOIN chain_blocks b ON b.number > c.block_number
  UNION ALL
  SELECT 'chain_cursor.' || d.column_name, b.number::text, d.kept, d.recount
  FROM chain_cursor c JOIN chain_blocks b ON b.number IN (0, c.block_number) CROSS JOIN LATERAL (
    VALUES ('genesis_hash', 0, c.genesis_hash, b.hash), ('block_hash', c.block_number, c.block_hash, b.hash),
      ('block_time', c.block_number, c.block_time::text, b.time::text)) AS d(column_name, number, kept, recount)
  WHERE d.number = b.number AND d.kept <> d.recount
  UNION ALL
  SELECT 'chain_cursor.block_number', c.block_number::text, c.block_number::text, 'from ' || e.block_number
  FROM chain_cursor c CROSS JOIN LATERAL (SELECT block_number FROM chain_events ORDER BY block_number DESC LIMIT 1) e
  WHERE e.block_number > c.block_number
  UNION ALL
  SELECT 'chain_cursor.' || d.column_name, c.block_number::text, d.kept::text, 'up to ' || c.block_number
  FROM chain_cursor c CROSS JOIN LATERAL (
    VALUES ('applied_number', c.applied_number), ('proven_number', c.proven_number),
      ('finalized_number', c.finalized_number)) AS d(column_name, kept)
  WHERE d.kept > c.block_number
  UNION ALL
  SELECT 'chain_cursor.chain_id', c.block_number::text, c.chain_id::text, f.chain_id::text
  FROM chain_cursor c CROSS JOIN chain_facts f WHERE f.chain_id <> c.chain_id`;

/**
 * The indexer reads again what it lacks of the last blocks. Those below have to go too, as it goes down from the cursor.
 * The first block of the chain stays: it identifies the chain. Parameter: the wrong blocks.
 */
const FORGET_BLOCKS =
  'DELETE FROM chain_blocks WHERE number <= (SELECT max(n) FROM unnest($1::bigint[]) n) AND number > 0';

/** Compares the last blocks and the cursor with each other and with the events. Where the cursor stands, a person decides. */
export async function compareBlocks(look: Look): Promise<void> {
  const found = await look.rows<Value>(COMPARE_BLOCKS);
  const isBlock = ({ kind }: Value): boolean => kind.startsWith('chain_blocks.');
  await reportBlocks(look, found.filter(isBlock));
  await look.report(found.filter((each) => !isBlock(each)));
}

/** Wrong blocks are forgotten, so that the indexer reads them again; but never the first block of the chain. */
export async function reportBlocks(look: Look, wrong: Value[]): Promise<void> {
  const forget = async (blocks: string[]): Promise<void> => {
    await look.client.query(LOCK_CURSOR);
    await look.client.query(FORGET_BLOCKS, [blocks]);
  };
  await look.report(wrong, forget, 1, (block) => block !== '0');
}
