import { Repairs, type Value } from '#verify/checks/connection';
import { LOCK_CURSOR } from '#verify/checks/lottery.sql';
import { COMPARE_BLOCKS, FORGET_BLOCKS, REPAIR_CURSOR } from './blocks.sql';

type BlockValue = Value & { table: 'chain_blocks' | 'chain_cursor' };

/** Where the indexer stands: a person has to tell on which block. */
const BY_HAND = ['chain_id', 'genesis_hash', 'block_hash', 'block_number'];

/** Compares the last blocks and the cursor with each other and with the events. */
export class BlockComparison extends Repairs {
  /** @param told what a node says is wrong of blocks */
  async compare(told: Value[] = []): Promise<void> {
    await this.blocks(told);
    const found = await this.rows<BlockValue>(COMPARE_BLOCKS);
    await this.blocks(found.filter(({ table }) => table === 'chain_blocks'));
    const cursor = found.filter(({ table }) => table === 'chain_cursor');
    const [byHand, mendable] = [true, false].map((is) =>
      cursor.filter(({ column }) => BY_HAND.includes(column) === is),
    );
    await this.report('chain_cursor', mendable, async () => {
      await this.client.query(LOCK_CURSOR);
      await this.client.query(REPAIR_CURSOR);
    });
    await this.report('chain_cursor', byHand);
  }

  /** The first block of the chain is never read again. */
  private async blocks(wrong: Value[]): Promise<void> {
    const first = wrong.filter(({ id }) => id === '0');
    const others = wrong.filter(({ id }) => id !== '0');
    await this.report('chain_blocks', first);
    await this.report('chain_blocks', others, () => this.forget(others.map(({ id }) => id)));
  }

  private async forget(numbers: string[]): Promise<void> {
    await this.client.query(LOCK_CURSOR);
    const highest = numbers.map(BigInt).reduce((a, b) => (a > b ? a : b));
    await this.client.query(FORGET_BLOCKS, [highest.toString()]);
  }
}
