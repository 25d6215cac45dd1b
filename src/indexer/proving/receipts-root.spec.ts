import op from '../../../test/vectors/op-regolith-receipts.json';
import { mayHaveLogsOf } from './header';
import { EMPTY_ROOT, provenReceipts, receiptsRoot } from './receipts-root';

const { receipts } = op;
const header = { number: '0x1', hash: `0x${'ab'.repeat(32)}`, receiptsRoot: op.receiptsRoot };
const hashesOf = async (given: unknown): Promise<string[] | undefined> =>
  (await provenReceipts(header, given))?.receipts.map(({ transactionHash }) => transactionHash);
const hashes = receipts.map(({ transactionHash }) => transactionHash);

describe('the root of receipts', () => {
  it('of no transaction is that of an empty trie', async () =>
    expect(await receiptsRoot([])).toBe(EMPTY_ROOT));

  it('of a chain of the OP stack, with a deposit, is that of its header', async () =>
    expect(await receiptsRoot(receipts)).toBe(op.receiptsRoot));

  it('of a deposit since Canyon covers its nonce and version', async () => {
    const [deposit] = receipts;
    const versioned = { ...deposit, depositReceiptVersion: '0x1' };
    const root = await receiptsRoot([versioned]);
    expect(root).not.toBe(await receiptsRoot([deposit]));
    expect(root).not.toBe(await receiptsRoot([{ ...versioned, depositNonce: '0x1' }]));
  });

  it('of more than 128 receipts needs longer keys', async () => {
    const many = Array.from({ length: 300 }, (_, i) => ({
      ...receipts[1],
      transactionIndex: `0x${i.toString(16)}`,
    }));
    const root = await receiptsRoot(many);
    expect(await receiptsRoot(many.slice(1))).not.toBe(root);
  });

  it('proves receipts in any order, in that of the block', async () =>
    expect(await hashesOf([...receipts].reverse())).toEqual(hashes));

  it.each([
    ['without the first', receipts.slice(1)],
    ['without one', receipts.filter((_, i) => i !== 2)],
    ['without the last', receipts.slice(0, -1)],
    ['with one without its logs', receipts.map((each, i) => (i === 1 ? { ...each, logs: [] } : each))],
    ['with one that failed', receipts.map((each, i) => (i === 1 ? { ...each, status: '0x0' } : each))],
    ['that are none', []],
    ['that are no list', 'nothing'],
    ['that are no receipts', [null, 7]],
    ['of other fields', [{ hash: 1 }]],
  ])('does not prove receipts %s', async (_, given) => expect(await hashesOf(given)).toBeUndefined());

  it("leaves out what Bor adds to a block's receipts, by its name", async () => {
    // keccak256('matic-bor-receipt-' + number as 8 bytes + hash), as Polygon's own library has it.
    const name = '0x0f425eba1db4ffa12450b098678a964d7e4a39cb35cdac98eec076c637f8505f';
    const added = { ...receipts[1], transactionHash: name, transactionIndex: '0x5' };
    expect((await provenReceipts(header, [...receipts, added]))?.outside).toBe(name);
    expect(await hashesOf([...receipts, added])).toEqual(hashes);
    expect(await hashesOf([...receipts, { ...added, transactionHash: header.hash }])).toBeUndefined();
  });
});

it('the blooms of real receipts have their logs', () => {
  for (const { logs, logsBloom } of receipts)
    for (const { address } of logs) expect(mayHaveLogsOf(address, logsBloom)).toBe(true);
});
