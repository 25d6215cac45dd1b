import { NotComparable, certain, pause } from './chain';
import type { Doubt } from './findings';
import { type Look, halves } from './look';
import { type AtCursor, type Call, hex } from '#verify/contract/holdings';
import { SECOND } from './share-model';
import { reportBlocks } from './blocks';
import { type Header, type RawLog, type StoredEvent, timeOf, wantedOf } from './node-log';
import { BLOCKS, type EventColumn, STORED_EVENTS } from './node.sql';

type Place = Pick<StoredEvent, 'block' | 'index'>;
interface StoredBlock extends AtCursor {
  number: string;
  hash: string;
  parentHash: string;
  time: string;
}
type Wrong = Doubt & { key: string };

/** Blocks that are asked for at once, each by its header and its logs. */
const MOST_BLOCKS = 200;
/** A block time of this size cannot be seconds: that would be the year 5138. */
const NO_SECONDS = 1e11;
/** After this many blocks without readable logs, verification does not ask for those of further blocks. */
const MOST_UNREADABLE = 100;

/** Compares events with what a node says of them now. @param keys blocks and log indexes. @throws NotComparable */
export async function compareEventsAtNode(look: Look, keys: string[]): Promise<void> {
  const { asked: rows, differing } = await certain(look, async (again) => {
    // A balancer may have asked a node for the logs that does not have them yet.
    if (again) await pause(look);
    const asked = await look.rows<StoredEvent>(STORED_EVENTS, ...halves([...(again ?? keys)]));
    return { asked, differing: await askEvents(look, asked) };
  });
  look.findings.count('events on the chain', rows.length);
  look.findings.doubt(differing);
}

/** The same for the blocks that are stored. @throws NotComparable */
export async function compareBlocksAtNode(look: Look): Promise<void> {
  const { asked: rows, differing } = await certain(look, async (again) => {
    if (again) await pause(look);
    const all = await look.rows<StoredBlock>(BLOCKS);
    const asked = all.filter(({ number }) => !again || again.has(number));
    return { asked, differing: await askBlocks(look, asked) };
  });
  look.findings.count('blocks on the chain', rows.length);
  await reportBlocks(
    look,
    differing.map(({ kind, id, found, wanted }) => ({
      id,
      column: kind.split('.')[1],
      kept: found,
      recount: wanted,
    })),
  );
}

async function askEvents(look: Look, rows: StoredEvent[]): Promise<Wrong[]> {
  const differing: Wrong[] = [];
  const numbers = [...new Set(rows.map(({ block }) => block))];
  for (let i = 0; i < numbers.length; i += MOST_BLOCKS) {
    const some = numbers.slice(i, i + MOST_BLOCKS);
    const answers = (await askAt(look, rows[0], headersOf(some))) as Header[];
    const headers = new Map(some.map((number, n) => [number, answers[n]]));
    const logs = await logsOf(
      look,
      rows[0],
      some.map((number) => rows.filter(({ block }) => block === number)),
    );
    for (const row of rows.filter(({ block }) => logs.has(block))) {
      const index = BigInt(row.index) % SECOND;
      const log = logs.get(row.block)!.find(({ logIndex }) => BigInt(logIndex) === index);
      differing.push(...compareEvent(row, headers.get(row.block)!, log));
    }
  }
  return differing;
}

/**
 * The logs of blocks, each given by its stored events. Logs that do not fit into one answer are requested block by
 * block, and those of blocks that are still too large by the transactions of the events. Blocks whose logs are not
 * available are left out and reported.
 */
async function logsOf(look: Look, cursor: AtCursor, blocks: StoredEvent[][]): Promise<Map<string, RawLog[]>> {
  const found = new Map<string, RawLog[]>();
  const ask = async (some: StoredEvent[][]): Promise<void> => {
    const answers = await look.mode.chain!.ask(some.map(logCall), cursor);
    some.forEach(([{ block }], i) => {
      if (Array.isArray(answers[i])) found.set(block, answers[i] as RawLog[]);
    });
  };
  await ask(blocks);
  for (const rows of blocks.filter(([{ block }]) => !found.has(block))) {
    const [{ block }] = rows;
    await ask([rows]);
    if (found.has(block)) continue;
    const hashes = [...new Set(rows.map(({ tx_hash: hash }) => hash))];
    const calls = hashes.map((hash): Call => ['eth_getTransactionReceipt', [hash]]);
    const receipts = await look.mode.chain!.ask(calls, cursor);
    const lacking = receipts.find((each) => each instanceof Error || each === null);
    if (lacking === undefined) {
      found.set(
        block,
        (receipts as { logs: RawLog[] }[]).flatMap(({ logs }) => logs),
      );
      continue;
    }
    look.unreadable.add(block);
    const reason = `events of block ${block}: ${lacking instanceof Error ? lacking.message : 'the node sends no receipt'}`;
    if (look.unreadable.size > MOST_UNREADABLE) throw new NotComparable(reason);
    look.findings.skip(reason);
  }
  return found;
}

async function askBlocks(look: Look, rows: StoredBlock[]): Promise<Wrong[]> {
  if (rows.length === 0) return [];
  const headers = (await askAt(look, rows[0], headersOf(rows.map(({ number }) => number)))) as Header[];
  return rows.flatMap((row, i) => {
    const { hash, parentHash, timestamp } = headers[i];
    const wanted = { hash, parent_hash: parentHash, time: timeOf(timestamp) };
    const found = { hash: row.hash, parent_hash: row.parentHash, time: row.time };
    return differences('chain_blocks', row.number, found, wanted, []);
  });
}

/** Answers of nodes that have the cursor's block, and with it all earlier ones. */
async function askAt(look: Look, cursor: AtCursor, calls: Call[]): Promise<unknown[]> {
  const answers = await look.mode.chain!.ask(calls, cursor);
  answers.forEach((answer, i) => {
    if (answer instanceof Error) throw new NotComparable(answer.message);
    if (answer === null) throw new NotComparable(`${calls[i][0]}: the node does not tell`);
    if (Number((answer as Partial<Header>).timestamp) >= NO_SECONDS)
      throw new NotComparable('the node sends the times of blocks in a unit other than seconds');
  });
  return answers;
}

const keyOf = ({ block, index }: Place): string => `${block} ${index}`;

const logCall = (rows: StoredEvent[]): Call => {
  const block = hex(rows[0].block);
  const address = [...new Set(rows.map(({ contract }) => contract))];
  return ['eth_getLogs', [{ fromBlock: block, toBlock: block, address }]];
};

const headersOf = (numbers: string[]): Call[] =>
  numbers.map((number) => ['eth_getBlockByNumber', [hex(number), false]]);

function differences<Column extends string>(
  table: string,
  id: string,
  found: Record<NoInfer<Column>, string | null>,
  wanted: Partial<Record<Column, string | null>>,
  subjects: string[],
): Wrong[] {
  return (Object.keys(wanted) as Column[]).flatMap((column) =>
    found[column] === wanted[column]
      ? []
      : { key: id, kind: `${table}.${column}`, id, found: found[column], wanted: wanted[column]!, subjects },
  );
}

/** What follows from an event as it is stored, or as it should be. */
const subjectsOf = ({ pool_id, contract, draw_id }: Partial<Record<EventColumn, string | null>>): string[] =>
  [pool_id, draw_id && `${contract} ${draw_id}`].filter((each) => typeof each === 'string');

function compareEvent(row: StoredEvent, header: Header, log: RawLog | undefined): Wrong[] {
  const id = keyOf(row);
  const wanted = log && wantedOf(row, header, log);
  if (!wanted)
    return [
      {
        ...{ key: id, kind: 'chain_events.log_index', id },
        ...{ found: row.kind, wanted: null, subjects: subjectsOf(row) },
      },
    ];
  return differences('chain_events', id, row, wanted, [...subjectsOf(row), ...subjectsOf(wanted)]);
}
