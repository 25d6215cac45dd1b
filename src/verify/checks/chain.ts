import { setTimeout as sleep } from 'node:timers/promises';
import { encodeFunctionData, parseAbi } from 'viem';
import {
  type AtCursor,
  type Holding,
  type Question,
  ethCall,
  questionsOf,
  valueIn,
} from '#verify/contract/holdings';
import { HELD_SHARES, LAST_EVENTS, LEDGER_HOLDINGS } from './chain.sql';
import type { Doubt } from './findings';
import { type Look, halves } from './look';

const abi = parseAbi([
  'function seq() view returns (uint64)',
  'function balanceOf(address account) view returns (uint256)',
]);

/** The node does not answer, or cannot answer this. */
export class NotComparable extends Error {}
/** No endpoint has the cursor's block, or too few have it to decide which is right. This may change later. */
export class OtherBlock extends Error {}

/** After so many calls, check again that the node still has the cursor's block. */
const CALLS_PER_CHECK = 500;
const MAX_TRIES = 10;
const RETRY_MS = 500;
/** A difference counts when it was seen so many times, as a balancer may ask a node that is on another block. */
const MIN_SIGHTINGS = 3;

/** Compares values of pools with those of the contracts at the ledger's block. @param keys pools, and pools with an account. @throws NotComparable */
export async function compareHoldings(look: Look, keys: string[]): Promise<void> {
  const asked = await compareWanted(
    look,
    keys,
    (some) => look.rows<Holding>(LEDGER_HOLDINGS, ...halves(some)),
    (rows) => rows.flatMap(questionsOf).map((each) => ({ ...each, key: each.id })),
  );
  const yields = asked.filter(({ kind }) => kind === 'chain.claimable').length;
  look.findings.count('pools on the chain', keys.filter((key) => !key.includes(' ')).length);
  look.findings.count('balances on the chain', asked.length - yields);
  look.findings.count('claimable yields on the chain', yields);
}

/** Compares the number of events read with each contract's own count. @throws NotComparable */
export async function compareSeqs(look: Look, contracts: string[]): Promise<void> {
  type Last = AtCursor & Record<'contract' | 'seq' | 'block', string>;
  const data = encodeFunctionData({ abi, functionName: 'seq' });
  const wantedOf = ({ contract, seq, block }: Last): Wanted => ({
    ...{ key: contract, id: contract },
    kind: 'chain.seq',
    wanted: BigInt(seq),
    call: ethCall(contract, data, block),
  });
  const read = (some: string[]): Promise<Last[]> => look.rows(LAST_EVENTS, some);
  await compareWanted(look, contracts, read, (rows) => rows.map(wantedOf));
  look.findings.count('contracts', contracts.length);
}

/** Compares the shares that accounts have of vaults with what these say. @param keys vaults and accounts. @throws NotComparable */
export async function compareBalances(look: Look, keys: string[]): Promise<void> {
  type Held = AtCursor & Record<'vault' | 'account' | 'shares' | 'block', string>;
  const wantedOf = ({ vault, account, shares, block }: Held): Wanted => {
    const args = [account as `0x${string}`] as const;
    const call = ethCall(vault, encodeFunctionData({ abi, functionName: 'balanceOf', args }), block);
    const key = `${vault} ${account}`;
    return { key, kind: 'chain.shares', id: key, wanted: BigInt(shares), call };
  };
  const read = (some: string[]): Promise<Held[]> => look.rows(HELD_SHARES, ...halves(some));
  await compareWanted(look, keys, read, (rows) => rows.map(wantedOf));
  look.findings.count('shares on the chain', keys.length);
}

type Wanted = Question & { key: string };

/** Compares what the ledger wants with what contracts say. @returns everything that was asked at first */
async function compareWanted<Row extends AtCursor>(
  look: Look,
  keys: string[],
  read: (keys: string[]) => Promise<Row[]>,
  wantedOf: (rows: Row[]) => Wanted[],
): Promise<Question[]> {
  const { asked, differing } = await certain(look, async (again) => {
    const rows = await read(again ? [...again] : keys);
    return compareAnswers(look, rows[0], wantedOf(rows));
  });
  look.findings.doubt(differing);
  return asked;
}

interface Asked<Row> {
  asked: Row[];
  /** With the keys by which to compare again. */
  differing: (Doubt & { key: string })[];
}

/**
 * Compares again what differs, each time with the ledger as it is then.
 * @param compare gets the keys to compare again, undefined for all
 * @returns everything that was compared at first, and what differed each time
 */
export async function certain<Row>(
  look: Look,
  compare: (again?: Set<string>) => Promise<Asked<Row>>,
): Promise<Asked<Row>> {
  const { asked, differing: first } = await patiently(look, compare);
  let differing = first;
  for (let sightings = 1; sightings < MIN_SIGHTINGS && differing.length > 0; sightings += 1) {
    const again = new Set(differing.map(({ key }) => key));
    ({ differing } = await patiently(look, () => compare(again)));
  }
  return { asked, differing };
}

/** Repeats the work until the node has the cursor's block. Either of them may be moving. */
async function patiently<T>(look: Look, work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OtherBlock)) throw error;
      if (tries === MAX_TRIES || look.mode.signal.aborted) throw new NotComparable(error.message);
      await pause(look);
    }
  }
}

export async function pause({ mode }: Look): Promise<void> {
  await sleep(RETRY_MS, undefined, { signal: mode.signal }).catch(() => undefined);
}

/** @param cursor undefined if there are no questions */
async function compareAnswers(
  look: Look,
  cursor: AtCursor | undefined,
  questions: Wanted[],
): Promise<Asked<Question>> {
  const differing: Asked<Question>['differing'] = [];
  for (let i = 0; i < questions.length; i += CALLS_PER_CHECK) {
    const some = questions.slice(i, i + CALLS_PER_CHECK);
    const answers = await look.mode.chain!.ask(
      some.map(({ call }) => call),
      cursor!,
    );
    some.forEach((question, index) => {
      const { key, kind, id, wanted } = question;
      const value = amountOf(answers[index], question);
      const isUnnumbered = kind === 'chain.seq' && lacksFunction(answers[index]);
      if (isUnnumbered && value !== wanted) look.unnumbered.add(id);
      else if (typeof value === 'string') look.findings.skip(value);
      else if (value !== wanted)
        differing.push({
          key,
          // The chain knows its balances, so it is the ledger that differs.
          ...{ kind, id, found: wanted.toString(), wanted: value.toString() },
          subjects: [],
        });
    });
  }
  return { asked: questions, differing };
}

/** Whether the contract lacks the function that was asked for. */
const lacksFunction = (answer: unknown): boolean =>
  answer === '0x' || (answer instanceof Error && 'isRevert' in answer && answer.isRevert === true);

/** @returns the amount, or the reason why there is none: the contract lacks the function, or the node the state */
export function amountOf(answer: unknown, { kind, call, wanted, outputs }: Question): bigint | string {
  const [{ to }] = call[1] as [{ to: string }];
  const silent = `${kind} of contract ${to}: it does not tell`;
  if (answer instanceof Error) return `${kind} of contract ${to}: ${answer.message}`;
  // Without a contract there is no balance.
  if (answer === '0x' && wanted === 0n) return 0n;
  if (typeof answer !== 'string') return silent;
  try {
    if (outputs?.length) return valueIn(outputs, answer) ?? silent;
  } catch {
    return silent;
  }
  // Of a circle, what can be claimed has two words.
  const words = kind === 'chain.claimable' ? 2 : 1;
  return /^0x[0-9a-f]+$/i.test(answer) && answer.length <= 2 + 64 * words ? BigInt(answer) : silent;
}
