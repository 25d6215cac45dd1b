import { setTimeout as sleep } from 'node:timers/promises';
import { type Hex, encodeFunctionData, parseAbi } from 'viem';
import {
  type AtCursor,
  CallsUsedUp,
  type Holding,
  type Question,
  ethCall,
  questionsOf,
  valueIn,
} from '#verify/contract/holdings';
import { HELD_SHARES, LAST_EVENTS, LEDGER_HOLDINGS } from './chain.sql';
import type { Doubt } from './findings';
import { type Look, unique, wordsOf } from './look';

const abi = parseAbi([
  'function seq() view returns (uint64)',
  'function balanceOf(address account) view returns (uint256)',
]);

/** No endpoint has the cursor's block, or too few have it to decide which is right. This may change later. */
export class OtherBlock extends Error {}

const MAX_TRIES = 10;
const RETRY_MS = 500;
/** A difference counts when it was seen so many times, as a balancer may ask a node that is on another block. */
const MIN_SIGHTINGS = 3;

/** Compares values of pools with those of the contracts at the ledger's block. Keys: pools, and pools with an account. */
export const compareHoldings = atContracts<Holding>(LEDGER_HOLDINGS, 2, questionsOf);

type Last = AtCursor & Record<'contract' | 'seq' | 'block', string>;
/** Compares the number of events read with each contract's own count. Keys: contracts. */
export const compareSeqs = atContracts<Last>(LAST_EVENTS, 1, ({ contract, seq, block }) => {
  const call = ethCall(contract, encodeFunctionData({ abi, functionName: 'seq' }), block);
  return [{ kind: 'chain.seq', id: contract, wanted: BigInt(seq), call }];
});

type Held = AtCursor & Record<'vault' | 'account' | 'shares' | 'block', string>;
/** Compares the shares that accounts have of vaults with what these say. Keys: vaults and accounts. */
export const compareBalances = atContracts<Held>(HELD_SHARES, 2, ({ vault, account, shares, block }) => {
  const data = encodeFunctionData({ abi, functionName: 'balanceOf', args: [account as Hex] });
  const call = ethCall(vault, data, block);
  return [{ kind: 'chain.shares', id: `${vault} ${account}`, wanted: BigInt(shares), call }];
});

/** Compares what the ledger expects with what contracts say. @param words of a key, which are the statement's parameters */
function atContracts<Row extends AtCursor>(
  statement: string,
  words: number,
  questionsIn: (row: Row) => Question[],
): (look: Look, keys: string[]) => Promise<void> {
  return async (look, keys) => {
    const { findings, unnumbered, mode } = look;
    const wrong = await differing<Row>(look, keys, statement, words, async (rows, isFirst) => {
      const questions = rows.flatMap(questionsIn);
      const calls = questions.map(({ call }) => call);
      const answers = calls.length > 0 ? await mode.chain!.ask(calls, rows[0]) : [];
      return questions.flatMap((question, i): Doubt[] => {
        const { kind, id, wanted } = question;
        const value = amountOf(answers[i], question);
        if (isFirst) findings.count(kind, 1);
        if (value === wanted) return [];
        if (kind === 'chain.seq' && lacksFunction(answers[i])) unnumbered.add(id);
        else if (typeof value === 'string') findings.skip(value);
        // The chain knows its balances, so it is the ledger that differs.
        else return [{ kind, id, found: `${wanted}`, wanted: `${value}`, subjects: [] }];
        return [];
      });
    });
    findings.doubt(wrong);
  };
}

/**
 * Compares rows of the ledger with what nodes say, and then again what differs, each time with the ledger as it is then.
 * Retries while the nodes do not have the cursor's block, as the nodes and the cursor are moving.
 * @param statement reads the rows of keys, whose words are its parameters
 * @returns what differed each time
 */
export async function differing<Row extends AtCursor>(
  look: Look,
  keys: string[],
  statement: string,
  words: number,
  compare: (rows: Row[], isFirst: boolean) => Promise<Doubt[]>,
): Promise<Doubt[]> {
  const { signal } = look.mode;
  let otherBlock: OtherBlock | undefined;
  for (let [sightings, tries, some] = [0, 1, keys]; ;) {
    try {
      const rows = await look.rows<Row>(statement, ...wordsOf(some, words));
      const wrong = rows.length > 0 ? await compare(rows, sightings === 0) : [];
      sightings += 1;
      if (wrong.length === 0 || sightings === MIN_SIGHTINGS) return wrong;
      [tries, some, otherBlock] = [1, unique(wrong.map(({ id }) => id)), undefined];
    } catch (error) {
      // The reason for the retries explains more than that they have used up the calls.
      if (error instanceof CallsUsedUp && otherBlock) throw otherBlock;
      if (!(error instanceof OtherBlock) || tries === MAX_TRIES || signal.aborted) throw error;
      otherBlock = error;
      tries += 1;
    }
    await sleep(RETRY_MS, undefined, { signal }).catch(() => undefined);
  }
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
