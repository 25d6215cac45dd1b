import { type AtCursor, type Call, hex } from '#verify/contract/holdings';
import { reportBlocks } from './blocks';
import { differing } from './chain';
import type { Doubt } from './findings';
import { type Look, unique } from './look';
import { type Columns, type Header, type RawLog, type StoredEvent, timeOf, wantedOf } from './node-log';
import { BLOCKS, STORED_EVENTS } from './node.sql';
import { SECOND } from './share-model';

/** A block time of this size cannot be seconds: that would be the year 5138. */
const NO_SECONDS = 1e11;
/** After so many blocks without readable logs, those of further blocks are not asked for: each takes three requests. */
const MOST_UNREADABLE = 100;

/** Compares events with what nodes say of them now. @param keys blocks and log indexes */
export async function compareEventsAtNode(look: Look, keys: string[]): Promise<void> {
  const wrong = await differing<StoredEvent>(look, keys, STORED_EVENTS, 2, async (rows) => {
    const blocks = unique(rows.map(({ block }) => block));
    const headers = await headersOf(look, rows[0], blocks);
    const logs = await logsOf(
      look,
      blocks.map((number) => rows.filter(({ block }) => block === number)),
    );
    return rows
      .filter(({ block }) => logs.has(block))
      .flatMap((row) => {
        const { block, index, kind } = row;
        const log = logs.get(block)!.find(({ logIndex }) => BigInt(logIndex) === BigInt(index) % SECOND);
        const wanted = log && wantedOf(row, headers.get(block)!, log);
        const id = `${block} ${index}`;
        return wanted
          ? differences('chain_events', id, row, wanted, [...subjectsOf(row), ...subjectsOf(wanted)])
          : differences('chain_events', id, { log_index: kind }, { log_index: null }, subjectsOf(row));
      });
  });
  look.findings.doubt(wrong);
}

/** The same for blocks that are stored. @param numbers of the blocks */
export async function compareBlocksAtNode(look: Look, numbers: string[]): Promise<void> {
  type Stored = AtCursor & Record<'number' | 'hash' | 'parent_hash' | 'time', string>;
  const wrong = await differing<Stored>(look, numbers, BLOCKS, 1, async (rows) => {
    const headers = await headersOf(
      look,
      rows[0],
      rows.map(({ number }) => number),
    );
    return rows.flatMap((row) => {
      const { hash, parentHash, timestamp } = headers.get(row.number)!;
      const wanted = { hash, parent_hash: parentHash, time: timeOf(timestamp) };
      return differences('chain_blocks', row.number, row, wanted);
    });
  });
  await reportBlocks(look, wrong);
}

/** Nodes that have the cursor's block have all earlier ones. */
async function headersOf(look: Look, cursor: AtCursor, numbers: string[]): Promise<Map<string, Header>> {
  const calls = numbers.map((number): Call => ['eth_getBlockByNumber', [hex(number), false]]);
  const answers = await look.mode.chain!.ask(calls, cursor);
  return new Map(
    numbers.map((number, i) => {
      const header = answers[i] as Header | Error | null;
      if (header instanceof Error) throw header;
      if (header === null) throw new Error(`the node has no block ${number}`);
      if (Number(header.timestamp) >= NO_SECONDS)
        throw new Error('the node sends the times of blocks in a unit other than seconds');
      return [number, header];
    }),
  );
}

/**
 * The logs of blocks, each given by its stored events. Logs that do not fit into one answer are requested block by
 * block, and those of blocks that are still too large by the transactions of the events. Blocks whose logs are not
 * available are left out and reported.
 */
async function logsOf(look: Look, blocks: StoredEvent[][]): Promise<Map<string, RawLog[]>> {
  const found = new Map<string, RawLog[]>();
  const ask = (calls: Call[]): Promise<unknown[]> => look.mode.chain!.ask(calls, blocks[0][0]);
  const atOnce = await ask(blocks.map(logCall));
  for (const [i, rows] of blocks.entries()) {
    const [{ block }] = rows;
    const logs = Array.isArray(atOnce[i]) ? (atOnce[i] as unknown) : (await ask([logCall(rows)]))[0];
    if (Array.isArray(logs)) {
      found.set(block, logs as RawLog[]);
      continue;
    }
    const hashes = unique(rows.map(({ tx_hash: hash }) => hash));
    const receipts = await ask(hashes.map((hash) => ['eth_getTransactionReceipt', [hash]]));
    const lacking = receipts.find((each) => each instanceof Error || each === null);
    if (lacking === undefined)
      found.set(
        block,
        receipts.flatMap((each) => (each as { logs: RawLog[] }).logs),
      );
    else {
      const why = lacking instanceof Error ? lacking.message : 'the node sends no receipt';
      const reason = `events of block ${block}: ${why}`;
      if (look.unreadable.add(block).size > MOST_UNREADABLE) throw new Error(reason);
      look.findings.skip(reason);
    }
  }
  return found;
}

function logCall(rows: StoredEvent[]): Call {
  const block = hex(rows[0].block);
  const address = unique(rows.map(({ contract }) => contract));
  return ['eth_getLogs', [{ fromBlock: block, toBlock: block, address }]];
}

const differences = (
  table: string,
  id: string,
  stored: object,
  wanted: Columns,
  subjects: string[] = [],
): Doubt[] =>
  Object.keys(wanted)
    .map((column) => ({
      ...{ kind: `${table}.${column}`, id, subjects },
      ...{ found: (stored as Columns)[column], wanted: wanted[column] },
    }))
    .filter(({ found, wanted: right }) => found !== right);

type Named = Partial<Record<'pool_id' | 'contract' | 'draw_id', string | null>>;
/** What follows from an event as it is stored, or as it should be. */
const subjectsOf = ({ pool_id, contract, draw_id }: Named): string[] =>
  [pool_id, draw_id && `${contract} ${draw_id}`].filter((each) => typeof each === 'string');
