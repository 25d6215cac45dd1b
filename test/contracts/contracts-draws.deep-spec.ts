import {
  type BaseError,
  type Hex,
  decodeEventLog,
  encodeAbiParameters,
  encodeFunctionData,
  keccak256,
  toFunctionSelector,
  toHex,
} from 'viem';
import { contractAbi } from '#ledger/chain/contract.abi';
import { anvilRpc, artifacts, deploy } from '#dev/deploy';
import { ContractBench, HOUR, revertOf } from '../support/chain/contracts';

const DAY = 24n * HOUR;
/** The contract that EIP-2935 puts on a chain. */
const HISTORY = '0x0000F90827F1C53a10cb7A02335B175320002935';
/** How many blocks the history of these tests knows. On a chain it is 8191, of which the contract knows nothing. */
const HISTORY_BLOCKS = 300n;
/** Its code, as in the EIP but for that number. */
const HISTORY_CODE =
  '0x3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500'.replaceAll(
    '1fff',
    Number(HISTORY_BLOCKS).toString(16).padStart(4, '0'),
  );
/** `contracts-invariants` holds every sequence of calls against a model. Here is which block decides, and the limits. */
let t: ContractBench;

const draw = (drawId: bigint) =>
  t.view<{ status: number; pickBlock: bigint; winner: string }>('drawOf', drawId);
const lastEvent = async (): Promise<string> => (await t.events()).at(-1)!.eventName;

/** Tickets of two are sold, and the block that picks is `pickBlock`. */
async function closed(): Promise<{ drawId: bigint; pickBlock: bigint }> {
  const drawId = await t.openDraw();
  await t.call(t.alice, 'buyTickets', drawId, 1n);
  await t.call(t.bob, 'buyTickets', drawId, 1n);
  await t.passTime(HOUR);
  const { blockNumber } = await t.call(t.owner, 'closeDraw', drawId);
  return { drawId, pickBlock: blockNumber + 1n };
}

/** Mines until the next transaction is in this block. */
async function upTo(block: bigint): Promise<void> {
  await t.mine(Number(block - 1n - (await t.owner.getBlockNumber())));
}

/** What `completeDraw` would tell in the next block, undefined if it fails. */
async function completing(drawId: bigint, gas = 500_000n) {
  const data = encodeFunctionData({ ...artifacts.LotteryPool, functionName: 'completeDraw', args: [drawId] });
  const calls = [{ from: t.alice.account.address, to: t.pool, data, gas: toHex(gas) }];
  const [block] = (await anvilRpc(t.owner, 'eth_simulateV1', { blockStateCalls: [{ calls }] }, 'latest')) as {
    calls: { status: Hex; logs: { topics: [Hex]; data: Hex }[] }[];
  }[];
  const [{ status, logs }] = block.calls;
  return status === '0x1' ? decodeEventLog({ abi: contractAbi, ...logs[0] }) : undefined;
}

async function winnerBy(drawId: bigint, hash: Hex): Promise<string> {
  const types = [{ type: 'bytes32' }, { type: 'address' }, { type: 'uint64' }];
  const ticket = BigInt(keccak256(encodeAbiParameters(types, [hash, t.pool, drawId]))) % 2n;
  return (ticket === 0n ? t.alice : t.bob).account.address;
}

/** The call closes the draw again, and the block behind it picks. */
async function picksAnew(drawId: bigint): Promise<void> {
  const { blockNumber } = await t.call(t.alice, 'completeDraw', drawId);
  expect([await lastEvent(), (await draw(drawId)).pickBlock]).toEqual(['DrawClosed', blockNumber + 1n]);
  expect(await revertOf(t.call(t.alice, 'completeDraw', drawId))).toBe('HashUnavailable');
  await t.mine(1);
  await t.call(t.bob, 'completeDraw', drawId);
  const { hash } = await t.owner.getBlock({ blockNumber: blockNumber + 1n });
  expect((await draw(drawId)).winner).toBe(await winnerBy(drawId, hash));
}

/** The code as on a chain whose BLOCKHASH gives zero: ISZERO in its place does so for all numbers but zero. */
function withoutBlockHashes(bytecode: Hex): Hex {
  const code = Buffer.from(bytecode.slice(2), 'hex');
  const [blockHash, isZero, push1, push32] = [0x40, 0x15, 0x60, 0x7f];
  for (let at = 0; at < code.length; at += 1) {
    if (code[at] === blockHash) code[at] = isZero;
    if (code[at] >= push1 && code[at] <= push32) at += code[at] - push1 + 1;
  }
  return toHex(code);
}

describe('a chain that knows the hashes of 256 blocks', () => {
  beforeAll(async () => {
    t = await ContractBench.start();
  });
  beforeEach(() => t.newPool());
  afterAll(() => t.anvil.stop());

  it('the hash decides as long as it is known, and then another one', async () => {
    const first = await closed();
    await upTo(first.pickBlock + 256n);
    const picking = await t.owner.getBlock({ blockNumber: first.pickBlock });
    await t.call(t.alice, 'completeDraw', first.drawId);
    expect((await draw(first.drawId)).winner).toBe(await winnerBy(first.drawId, picking.hash));
    const second = await closed();
    await upTo(second.pickBlock + 257n);
    await picksAnew(second.drawId);
  });

  it.each([
    ['counts other blocks than BLOCKHASH, as on Arbitrum', '0x60015f5260205ff3'],
    ['fails', '0x5f5ffd'],
    ['answers nothing', '0x00'],
  ])('a history that %s is not believed', async (_, code) => {
    await anvilRpc(t.owner, 'anvil_setCode', HISTORY, code);
    try {
      const { drawId, pickBlock } = await closed();
      await upTo(pickBlock + 257n);
      await picksAnew(drawId);
    } finally {
      await anvilRpc(t.owner, 'anvil_setCode', HISTORY, '0x');
    }
  });

  it('the history of EIP-2935 decides as long as it knows the block, and then another block does', async () => {
    await anvilRpc(t.owner, 'anvil_setCode', HISTORY, HISTORY_CODE);
    // What the chain itself would write in each block.
    const remember = async (blockNumber: bigint): Promise<void> => {
      const { hash } = await t.owner.getBlock({ blockNumber });
      await anvilRpc(
        t.owner,
        'anvil_setStorageAt',
        HISTORY,
        toHex(blockNumber % HISTORY_BLOCKS, { size: 32 }),
        hash,
      );
    };
    try {
      const { drawId, pickBlock } = await closed();
      await t.mine(1);
      const { hash } = await t.owner.getBlock({ blockNumber: pickBlock });
      await remember(pickBlock);
      await upTo(pickBlock + HISTORY_BLOCKS);
      await remember(await t.owner.getBlockNumber());
      const winner = await winnerBy(drawId, hash);
      const before = await anvilRpc(t.owner, 'evm_snapshot');
      await t.call(t.alice, 'completeDraw', drawId);
      expect((await draw(drawId)).winner).toBe(winner);
      await anvilRpc(t.owner, 'evm_revert', before);
      await t.mine(1);
      await remember(await t.owner.getBlockNumber());
      await picksAnew(drawId);
    } finally {
      await anvilRpc(t.owner, 'anvil_setCode', HISTORY, '0x');
    }
  });

  it('a contract that finds no block hashes is not deployed', async () => {
    const { abi, bytecode } = artifacts.LotteryPool;
    const args = [t.token, t.owner.account.address, 1n];
    const error = await deploy(t.owner, { abi, bytecode: withoutBlockHashes(bytecode) }, args).then(
      () => undefined,
      (refused: BaseError) => refused.walk((each) => 'data' in (each as object)),
    );
    expect(error).toMatchObject({ data: toFunctionSelector('HashUnavailable()') });
  });

  it('a draw ends within 366 days, and a ticket costs at least the minimum', async () => {
    await t.newPool(10n);
    const opened = async (price: bigint, seconds: bigint): Promise<string | undefined> => {
      const { timestamp } = await t.owner.getBlock();
      await t.after(1n);
      return revertOf(t.call(t.owner, 'openDraw', price, timestamp + 1n + seconds));
    };
    const longest = 366n * DAY;
    expect(await t.view('LONGEST_SALE')).toBe(longest);
    expect(await opened(10n, 0n)).toBe('DrawTimePassed');
    expect(await opened(10n, longest + 1n)).toBe('DrawTimeTooFar');
    expect(await opened(10n, 2n ** 64n - 2n - (await t.owner.getBlock()).timestamp)).toBe('DrawTimeTooFar');
    expect(await opened(9n, HOUR)).toBe('BelowMinimum');
    expect(await opened(0n, HOUR)).toBe('ZeroAmount');
    expect(await opened(10n, longest)).toBe(undefined);
  });
});

describe('a chain that has EIP-2935', () => {
  beforeAll(async () => {
    t = await ContractBench.start({ hardfork: 'prague' });
  });
  beforeEach(() => t.newPool());
  afterAll(() => t.anvil.stop());

  it('the hash decides beyond 256 blocks', async () => {
    const { drawId, pickBlock } = await closed();
    await upTo(pickBlock + 300n);
    const { hash } = await t.owner.getBlock({ blockNumber: pickBlock });
    await t.call(t.alice, 'completeDraw', drawId);
    expect((await draw(drawId)).winner).toBe(await winnerBy(drawId, hash));
  });

  it('a caller who does not like the winner cannot hide the hash by giving little gas', async () => {
    const { drawId, pickBlock } = await closed();
    await upTo(pickBlock + 300n);
    const { abi } = artifacts.LotteryPool;
    const call = { abi, address: t.pool, functionName: 'completeDraw', args: [drawId] };
    const enough = await t.alice.estimateContractGas(call);
    const ends = new Map<string, number>();
    // Less than 22,000 pays for no call at all.
    for (let gas = 22_000n; gas < enough + 3_000n; gas += 250n) {
      const end = (await completing(drawId, gas))?.eventName ?? 'failed';
      ends.set(end, (ends.get(end) ?? 0) + 1);
    }
    expect([...ends.keys()].sort()).toEqual(['DrawCompleted', 'failed']);
    expect(ends.get('failed')).toBeGreaterThan(30);
  });
});
