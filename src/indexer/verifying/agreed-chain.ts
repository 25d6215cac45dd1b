import type { CappedChain } from '#verify/chain-walk';
import { acceptedClaim } from '#indexer/agreement/vote';
import { type Call, RetryableChainError } from '#indexer/reading/rpc';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import { CODE_CALL, VIEWS_AT_ONCE, isCode, pack } from './multicall';

/** Calls to one endpoint in a round. */
export const MOST_CALLS = 100;
/** Values in a part. Its calls have to fit into a round three times: so often is asked for what differs. */
const VALUES = { packed: 500, single: 25 };
/** Nothing is asked twice. */
const PATIENCE_MS = 0;

/**
 * The chain as verification asks it: at most so many calls a round, and as batches are read. All endpoints that are well
 * are asked, and an answer counts that is accepted by the vote. What is found here counts for or against no endpoint as
 * a reader.
 */
export class AgreedChain implements CappedChain {
  private used = 0;
  private asked: { endpoint: WatchedEndpoint; isPacked: boolean }[] = [];

  constructor(
    private readonly endpoints: WatchedEndpoint[],
    private readonly agree: number,
  ) {}

  get left(): number {
    return MOST_CALLS - this.used;
  }

  get values(): number {
    return this.isPacked ? VALUES.packed : VALUES.single;
  }

  private get isPacked(): boolean {
    return this.asked.every(({ isPacked }) => isPacked);
  }

  /** With a header before and one after them. */
  cost(values: number): number {
    return 2 + (this.isPacked ? Math.ceil(values / VIEWS_AT_ONCE) : values);
  }

  /** Begins a round. */
  async begin(): Promise<void> {
    this.used = 1;
    const heard = this.endpoints.filter((each) => each.heard);
    this.asked = await Promise.all(
      heard.map(async (endpoint) => {
        const [code] = (await settled(endpoint, [CODE_CALL])) ?? [];
        return { endpoint, isPacked: isCode(code) };
      }),
    );
  }

  /**
   * @returns for each call the answer that is accepted, or an Error
   * @throws Error when no endpoint answers, or there is no majority
   */
  async ask(calls: Call[]): Promise<unknown[]> {
    const sent = this.asked.map(({ endpoint, isPacked }) => ({
      endpoint,
      ...(isPacked ? pack(calls) : { calls, unpack: (answers: unknown[]) => answers }),
    }));
    this.used += Math.max(0, ...sent.map((each) => each.calls.length));
    if (this.left < 0) throw new Error('the calls of this round are used up');
    const heard = await Promise.all(
      sent.map(async (each) => {
        const answers = await settled(each.endpoint, each.calls);
        return answers && each.unpack(answers);
      }),
    );
    const answered = heard.filter((each) => each !== undefined);
    if (answered.length === 0) throw new Error('no endpoint answers');
    return calls.map(([method], i) =>
      this.judge(
        method,
        answered.map((answers) => answers[i]),
      ),
    );
  }

  private judge(method: string, said: unknown[]): unknown {
    const claims = said.map(claimOf);
    const accepted = said[acceptedClaim(claims, this.agree)];
    if (accepted !== undefined) return accepted;
    const different = new Set(claims.filter((claim) => claim !== undefined));
    // Some endpoints lack the state of an old block: this value is left out, and the walk goes on.
    if (different.size === 1 && method === 'eth_call') return new Error('too few endpoints tell');
    // Nothing is concluded, and the walk stays where it is.
    if (different.size > 0) throw new Error('the endpoints do not agree');
    // None has it: null for a block, or an error.
    return said[0];
  }
}

/** Of a header only the hash: nodes differ in the other fields that they send. */
function claimOf(answer: unknown): string | undefined {
  if (answer === null || answer === undefined || answer instanceof Error) return undefined;
  return JSON.stringify((answer as { hash?: unknown }).hash ?? answer);
}

async function settled({ source }: WatchedEndpoint, calls: Call[]): Promise<unknown[] | undefined> {
  try {
    return await source.rpc.settled(calls, PATIENCE_MS);
  } catch (error) {
    if (error instanceof RetryableChainError) return undefined;
    throw error;
  }
}
