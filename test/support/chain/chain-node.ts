import { type AbiEvent, type Hex, decodeFunctionData, parseAbi, toFunctionSelector } from 'viem';
import { contractAbi } from '#ledger/chain/contract.abi';
import { rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import type { ChainEvent } from '#indexer/reading/decode';
import type { AskedChain } from '#verify/contract/holdings';
import { YieldModel } from '#verify/checks/yield-model';
import { type CircleEvent, CircleModel } from '#verify/checks/circle-model';
import { encoded } from './adapters';
import type { PaperBlock, PaperChain } from './paper-chain';
import { type Answers, Refused, hex } from './rpc-node';

const viewsAbi = parseAbi([
  'function totalOf(bytes16 poolId) view returns (uint256)',
  'function balanceOf(bytes16 poolId, address account) view returns (uint256)',
  'function claimableOf(bytes16 poolId, address account) view returns (uint256)',
  'function seq() view returns (uint64)',
  'function totalOf(uint64 circleId) view returns (uint256)',
  'function claimableOf(uint64 circleId, address account) view returns (uint256, uint256)',
]);
const VIEWS = new Set<string>(viewsAbi.map(toFunctionSelector));
const word = (value: bigint | number): string => `0x${BigInt(value).toString(16).padStart(64, '0')}`;
/** Of every contract, and what the token says of itself. */
const TOKEN_FACTS: Record<string, string> = {
  [toFunctionSelector('function token()')]: `0x${'70'.repeat(20).padStart(64, '0')}`,
  [toFunctionSelector('function decimals()')]: word(18),
};

function logOf(event: ChainEvent): unknown {
  const item = [...contractAbi, ...rotatingPoolAbi].find(
    (each) => each.type === 'event' && each.name === event.kind,
  ) as AbiEvent;
  const { account, amount } = event;
  const values: Record<string, unknown> = {
    poolId: `0x${event.poolId}`,
    ref: `0x${event.ref ?? '0'.repeat(32)}`,
    drawId: event.drawId && BigInt(event.drawId),
    circleId: event.circleId && BigInt(event.circleId),
    ...{ account, funder: account, winner: account, organiser: account },
    ...{ members: event.place, place: event.place, round: event.place, period: event.period },
    collateral: BigInt(event.collateral ?? 0),
    ...Object.fromEntries(
      ['amount', 'ticketPrice', 'count', 'prize', 'contribution'].map((name) => [name, BigInt(amount ?? 0)]),
    ),
    aprBps: event.aprBps,
    ...Object.fromEntries(
      ['drawTime', 'joinBy', 'roundEnd', 'nextEnd'].map((name) => [name, BigInt(event.drawTime ?? 0)]),
    ),
    seq: BigInt(event.seq),
  };
  return {
    address: event.contract,
    ...encoded(item, values),
    blockNumber: hex(event.blockNumber),
    blockHash: event.blockHash,
    transactionHash: event.txHash,
    logIndex: hex(event.logIndex),
  };
}

/** What a contract of circles answers: what it holds for a circle, or two words of what an account can claim. */
function ofCircle(events: ChainEvent[], id: bigint, account?: string): string {
  const model = new CircleModel();
  for (const event of events.filter(({ circleId }) => circleId === `${id}`))
    model.apply({
      ...event,
      circle: `${id}`,
      pool: event.poolId!,
      period: `${event.period}`,
      place: event.place === null ? null : `${event.place}`,
      until: `${event.drawTime}`,
      time: `${event.time}`,
    } satisfies CircleEvent);
  const { circles, circle_members: members } = model.rows();
  const isOver = ['COMPLETED', 'CANCELLED'].includes(circles[0].state as string);
  type Row = (typeof members)[number];
  const payout = (row: Row): bigint => BigInt(row.won!) - BigInt(row.paid_out!);
  const refund = (row: Row): bigint => BigInt(row.collateral!) + BigInt(row.paid!) - BigInt(row.refunded!);
  if (account === undefined) return word(members.reduce((sum, row) => sum + payout(row) + refund(row), 0n));
  const row = members.find((each) => each.account === account.toLowerCase())!;
  return word(payout(row)) + word(isOver ? refund(row) : 0n).slice(2);
}

/** What a contract answers that counts as the reference contract does, from its events. */
function viewOf(own: ChainEvent[], data: Hex): string {
  const { functionName, args } = decodeFunctionData({ abi: viewsAbi, data });
  if (functionName === 'seq') return word(own.length);
  if (typeof args[0] === 'bigint') return ofCircle(own, args[0], args[1]);
  const model = new YieldModel();
  for (const { kind, poolId, account, amount, time } of own)
    if (kind === 'Deposited' || kind === 'Withdrawn' || kind === 'YieldClaimed' || kind === 'YieldAccrued')
      model.apply({ kind, pool: poolId!, account: account!, amount: BigInt(amount!), time: BigInt(time) });
  const pool = args[0].slice(2);
  const { total = 0n, accounts } = model.pools.get(pool) ?? {};
  if (functionName === 'totalOf') return word(total);
  const account = args[1].toLowerCase();
  if (functionName === 'claimableOf') return word(model.claimableOf(pool, account));
  return word(accounts?.get(account)?.balance ?? 0n);
}

interface Filter {
  fromBlock: string;
  toBlock: string;
  blockHash?: string;
  address: string[];
}

/** A node that has the chain, as it is when it is asked. Ids there are 32 hex digits. */
export function nodeOf(chain: () => PaperChain, chainId = 31337): Answers {
  const blockOf = (pin: string | { blockHash: string }): PaperBlock | undefined => {
    const { blocks, head } = chain();
    if (pin === 'latest') return head;
    return typeof pin === 'string' ? blocks[Number(pin)] : blocks.find(({ hash }) => hash === pin.blockHash);
  };
  const answers: Record<string, (...params: any[]) => unknown> = {
    eth_chainId: () => hex(chainId),
    eth_blockNumber: () => hex(chain().head.number),
    eth_getCode: () => '0x01',
    eth_getBlockByNumber(tag: string) {
      const block = blockOf(tag);
      if (!block) return null;
      const { number, hash, parentHash, time, events } = block;
      const transactions = [...new Set(events.map(({ txHash }) => txHash))];
      return { number: hex(number), hash, parentHash, timestamp: hex(time), transactions };
    },
    eth_getBlockReceipts(tag: string) {
      const events = blockOf(tag)?.events ?? [];
      return [...new Set(events.map(({ txHash }) => txHash))].map((transactionHash) => ({
        transactionHash,
        logs: events.filter(({ txHash }) => txHash === transactionHash).map(logOf),
      }));
    },
    eth_getLogs({ fromBlock, toBlock, blockHash, address }: Filter) {
      const pinned = blockHash === undefined ? undefined : blockOf({ blockHash });
      if (blockHash !== undefined && !pinned) return new Refused('unknown block', -32000);
      const blocks = pinned ? [pinned] : chain().blocks.slice(Number(fromBlock), Number(toBlock) + 1);
      const events = blocks.flatMap((block) => block.events);
      return events.filter(({ contract }) => address.includes(contract)).map(logOf);
    },
    eth_call({ to, data }: { to: string; data: Hex }, pin: string | { blockHash: string }) {
      const block = blockOf(pin);
      if (!block) return new Refused('header not found', -32000);
      if (!VIEWS.has(data.slice(0, 10))) return TOKEN_FACTS[data] ?? '0x';
      const read = chain().blocks.slice(0, block.number + 1);
      return viewOf(
        read.flatMap(({ events }) => events.filter(({ contract }) => contract === to)),
        data,
      );
    },
  };
  return (method, params) => (method in answers ? answers[method](...params) : null);
}

export function paperNode(chain: PaperChain): AskedChain {
  const answer = nodeOf(() => chain);
  return { ask: (calls) => Promise.resolve(calls.map(([method, params]) => answer(method, params))) };
}
