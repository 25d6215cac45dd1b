import fc from 'fast-check';
import { type AbiParameter, type Hex, decodeEventLog, encodeEventTopics, maxUint256 } from 'viem';
import { contractAbi } from '#ledger/chain/contract.abi';
import { circleAbi } from '#ledger/chain/rotating.abi';
import { ReferencePool } from '#ledger/adapters/reference/reference-pool';
import type { ChainEvent, RawLog } from '#indexer/reading/decode';
import { encoded, hex } from '../../../test/support/chain/adapters';
import { adapterOf } from './adapter';
import { decoderOf } from './decoder';

const CONTRACT = `0x${'ab'.repeat(20)}`;
const decodeLog = decoderOf(new Map([[CONTRACT, adapterOf(new ReferencePool())!]]));
const abi = [...contractAbi, ...circleAbi] as const;
const EVENTS = abi.filter((item) => item.type === 'event');

const uint = (bits: number): fc.Arbitrary<bigint> => {
  const max = 2n ** BigInt(bits) - 1n;
  return fc.oneof(fc.bigInt({ min: 0n, max }), fc.constantFrom(0n, 1n, max));
};
const VALUES: Record<string, fc.Arbitrary<unknown>> = {
  bytes16: fc.oneof(hex(16), fc.constant(`0x${'0'.repeat(32)}`)),
  address: hex(20),
  uint256: fc.oneof(uint(256), fc.constant(maxUint256)),
  uint128: uint(128),
  uint64: uint(64),
  uint32: uint(32).map(Number),
};

const PLACE = {
  address: `0x${'Ab'.repeat(20)}`,
  blockNumber: '0x10',
  blockHash: `0x${'b1'.repeat(32)}`,
  transactionHash: `0x${'c2'.repeat(32)}`,
  logIndex: '0x3',
};

/** The log of an event as a node gives it, encoded by viem. */
const logs: fc.Arbitrary<RawLog> = fc.constantFrom(...EVENTS).chain((item) => {
  const inputs = item.inputs as readonly (AbiParameter & { name: string; indexed?: boolean })[];
  return fc.tuple(...inputs.map(({ type }) => VALUES[type])).map((values) => {
    const args = Object.fromEntries(inputs.map(({ name }, i) => [name, values[i]]));
    return { ...PLACE, ...encoded(item, args) };
  });
});

/** What the log says, by viem's decoder. */
function expected({ topics, data }: RawLog): Partial<ChainEvent> {
  const decoded = decodeEventLog({ abi, topics: topics as [Hex], data: data as Hex });
  const args: Record<string, string | bigint | number | undefined> = { ...decoded.args };
  const small = (value: unknown, most: number): number => Math.min(Number(value), most);
  const text = (value?: string | bigint | number): string | null => value?.toString() ?? null;
  const ends = args.drawTime ?? args.joinBy ?? args.roundEnd ?? args.nextEnd;
  const place = args.place ?? args.round ?? args.members;
  return {
    kind: decoded.eventName,
    seq: small(args.seq, Number.MAX_SAFE_INTEGER),
    poolId: text(args.poolId?.toString().slice(2)),
    ref: /[^0x]/.test(String(args.ref ?? '0')) ? String(args.ref).slice(2) : null,
    drawId: text(args.drawId),
    account: text(args.account ?? args.funder ?? args.winner ?? args.organiser)?.toLowerCase() ?? null,
    amount: text(args.amount ?? args.ticketPrice ?? args.count ?? args.prize ?? args.contribution),
    aprBps: args.aprBps === undefined ? null : Number(args.aprBps),
    drawTime: ends === undefined ? null : small(ends, Date.UTC(9999, 11, 31) / 1000),
    circleId: text(args.circleId),
    collateral: text(args.collateral),
    period: args.period === undefined ? null : Number(args.period),
    place: place === undefined ? null : Number(place),
  };
}

describe('the reference adapter', () => {
  it('says of every event what viem says', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(logs, fc.nat(), (log, time) => {
        const event = decodeLog(log, time) as ChainEvent;
        seen.add(event.kind);
        expect(event).toEqual({
          ...expected(log),
          poolName: null,
          fee: null,
          remaining: null,
          shares: null,
          blockNumber: 16,
          logIndex: 3,
          blockHash: PLACE.blockHash,
          txHash: PLACE.transactionHash,
          contract: PLACE.address.toLowerCase(),
          time,
        });
      }),
      { numRuns: 1000 },
    );
    expect([...seen].sort()).toEqual(EVENTS.map(({ name }) => name).sort());
  });

  it('reports that no method reads another topic', () => {
    const [item] = EVENTS;
    const word = `0x${'77'.repeat(32)}`;
    for (const topics of [[], [word], [word, ...encodeEventTopics({ abi: [item] } as never)]])
      expect(decodeLog({ ...PLACE, topics: topics as Hex[], data: '0x' }, 0)).toBe('unread');
  });

  it('refuses a known topic with other indexed parameters or data of another length', () => {
    fc.assert(
      fc.property(logs, hex(32), fc.integer({ min: 1, max: 64 }), (log, word, cut) => {
        const { topics, data } = log;
        const foreign: Partial<RawLog>[] = [
          { topics: topics.slice(0, -1) },
          { topics: [...topics, word] },
          { data: data.slice(0, -cut) },
          { data: `${data}${word.slice(2, 2 + cut)}` },
          { data: '0x' },
        ];
        for (const change of foreign)
          expect(() => decodeLog({ ...log, ...change }, 0)).toThrow(
            /^\w+ of 0x\w+ does not have the layout that ReferencePool\.\w+ expects: block 16, transaction 0xc2/,
          );
      }),
    );
  });
});
