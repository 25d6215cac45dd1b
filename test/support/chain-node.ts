import { type AbiEvent, decodeFunctionData, encodeAbiParameters, encodeEventTopics, parseAbi } from 'viem';
import { contractAbi } from '#ledger/chain/contract.abi';
import type { ChainEvent } from '#indexer/reading/decode';
import { EndpointRotation } from '#verify/checks/endpoint-rotation';
import { YieldModel } from '#verify/checks/yield-model';
import type { PaperChain } from './paper-chain';

const viewsAbi = parseAbi([
  'function totalOf(bytes16 poolId) view returns (uint256)',
  'function balanceOf(bytes16 poolId, address account) view returns (uint256)',
  'function claimableOf(bytes16 poolId, address account) view returns (uint256)',
  'function seq() view returns (uint64)',
]);
const word = (value: bigint | number): string => `0x${BigInt(value).toString(16).padStart(64, '0')}`;
const hex = (value: number): string => `0x${value.toString(16)}`;

function logOf(event: ChainEvent): unknown {
  const item = contractAbi.find((each) => each.type === 'event' && each.name === event.kind) as AbiEvent;
  const { account, amount } = event;
  const values: Record<string, unknown> = {
    poolId: `0x${event.poolId}`,
    ref: `0x${event.ref ?? '0'.repeat(32)}`,
    drawId: event.drawId && BigInt(event.drawId),
    ...{ account, funder: account, winner: account },
    ...Object.fromEntries(
      ['amount', 'ticketPrice', 'count', 'prize'].map((name) => [name, BigInt(amount ?? 0)]),
    ),
    aprBps: event.aprBps,
    drawTime: BigInt(event.drawTime ?? 0),
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
    const pool = args[0].slice(2);
    if (functionName === 'totalOf') return word(model.totalOf(pool));
    return word(model[functionName](pool, args[1].toLowerCase()));
  };
  return new EndpointRotation([(calls) => Promise.resolve(calls.map(answer))]);
}
