import type { Look, Value } from './look';
import { LOCK_CURSOR } from './events.sql';
import { COMPARE_BLOCKS, FORGET_BLOCKS, REPAIR_CURSOR } from './blocks.sql';

type BlockValue = Value & { table: 'chain_blocks' | 'chain_cursor' };

/** Where the indexer stands: a person has to tell on which block. */
const BY_HAND = ['chain_id', 'genesis_hash', 'block_hash', 'block_number'];

/** Compares the last blocks and the cursor with each other and with the events. */
export async function compareBlocks(look: Look): Promise<void> {
  const found = await look.rows<BlockValue>(COMPARE_BLOCKS);
  await reportBlocks(
    look,
    found.filter(({ table }) => table === 'chain_blocks'),
  );
  const cursor = found.filter(({ table }) => table === 'chain_cursor');
  const [byHand, mendable] = [true, false].map((is) =>
    cursor.filter(({ column }) => BY_HAND.includes(column) === is),
  );
  await look.report('chain_cursor', mendable, async () => {
    await look.client.query(LOCK_CURSOR);
    await look.client.query(REPAIR_CURSOR);
  });
  await look.report('chain_cursor', byHand);
}

/** Wrong blocks are forgotten, so that the indexer reads them again; but never the first block of the chain. */
export async function reportBlocks(look: Look, wrong: Value[]): Promise<void> {
  const [first, others] = [true, false].map((is) => wrong.filter(({ id }) => (id === '0') === is));
  await look.report('chain_blocks', first);
  await look.report('chain_blocks', others, async () => {
    await look.client.query(LOCK_CURSOR);
    const highest = others.map(({ id }) => BigInt(id)).reduce((a, b) => (a > b ? a : b));
    await look.client.query(FORGET_BLOCKS, [highest.toString()]);
  });
}
