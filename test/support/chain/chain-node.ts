import { type AbiEvent, decodeFunctionData, encodeAbiParameters, encodeEventTopics, parseAbi } from 'viem';
import { contractAbi } from '#ledger/chain/contract.abi';
import { rotatingPoolAbi } from '#ledger/chain/rotating.abi';
import type { ChainEvent } from '#indexer/reading/decode';
import { EndpointRotation } from '#verify/checks/endpoint-rotation';
import { YieldModel } from '#verify/checks/yield-model';
import { type CircleEvent, CircleModel } from '#verify/circles/circle-model';
import type { PaperChain } from './paper-chain';

const viewsAbi = parseAbi([
  'function totalOf(bytes16 poolId) view returns (uint256)',
  'function balanceOf(bytes16 poolId, address account) view returns (uint256)',
  'function claimableOf(bytes16 poolId, address account) view returns (uint256)',
  'function seq() view returns (uint64)',
  'function totalOf(uint64 circleId) view returns (uint256)',
  'function claimableOf(uint64 circleId, address account) view returns (uint256, uint256)',
]);
const word = (value: bigint | number): string => `0x${BigInt(value).toString(16).padStart(64, '0')}`;
const hex = (value: number): string => `0x${value.toString(16)}`;

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
  const plain = item.inputs.filter(({ indexed }) => !indexed);
  return {
    address: event.contract,
    topics: encodeEventTopics({ abi: [item], args: values }),
    data: encodeAbiParameters(
      plain,
      plain.map(({ name }) => values[name!]),
    ),
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
  const isOver = ['COMPLETED', 'CANCELLED'].includes(circles[0].state!);
  type Row = (typeof members)[number];
  const payout = (row: Row): bigint => BigInt(row.won!) - BigInt(row.paid_out!);
  const refund = (row: Row): bigint => BigInt(row.collateral!) + BigInt(row.paid!) - BigInt(row.refunded!);
  if (account === undefined) return word(members.reduce((sum, row) => sum + payout(row) + refund(row), 0n));
  const row = members.find((each) => each.account === account.toLowerCase())!;
  return word(payout(row)) + word(isOver ? refund(row) : 0n).slice(2);
}

/** A node that has the chain, with contracts that count as the reference contract does. Ids there are 32 hex digits. */
export function paperNode(chain: PaperChain): EndpointRotation {
  const events = chain.blocks.flatMap((block) => block.events);
  const answer = ([method, params]: [string, unknown[]]): unknown => {
    if (method === 'eth_getBlockByNumber') {
      const block = chain.blocks[Number(params[0])];
      return block && { hash: block.hash, parentHash: block.parentHash, timestamp: hex(block.time) };
    }
    if (method === 'eth_getLogs') {
      const [{ fromBlock, toBlock, address }] = params as [
        Record<'fromBlock' | 'toBlock', string> & { address: string[] },
      ];
      return events
        .filter(({ blockNumber: n }) => n >= Number(fromBlock) && n <= Number(toBlock))
        .filter(({ contract }) => address.includes(contract))
        .map(logOf);
    }
    const [{ to, data }, block] = params as [{ to: string; data: `0x${string}` }, string];
    const own = events.filter(({ contract, blockNumber }) => contract === to && blockNumber <= Number(block));
    const model = new YieldModel();
    for (const { kind, poolId, account, amount, time } of own)
      if (kind === 'Deposited' || kind === 'Withdrawn' || kind === 'YieldClaimed' || kind === 'YieldAccrued')
        model.apply({ kind, pool: poolId!, account: account!, amount: BigInt(amount!), time: BigInt(time) });
    const { functionName, args } = decodeFunctionData({ abi: viewsAbi, data });
    if (functionName === 'seq') return word(own.length);
    if (typeof args[0] === 'bigint') return ofCircle(own, args[0], args[1]);
    const pool = args[0].slice(2);
    if (functionName === 'totalOf') return word(model.totalOf(pool));
    return word(model[functionName](pool, args[1].toLowerCase()));
  };
  return new EndpointRotation([(calls) => Promise.resolve(calls.map(answer))]);
}
