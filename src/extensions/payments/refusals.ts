import { Injectable, Optional } from '@nestjs/common';
import {
  type Abi,
  type Address,
  type Hex,
  decodeErrorResult,
  encodeFunctionData,
  erc20Abi,
  numberToHex,
  parseAbi,
} from 'viem';
import { Database } from '#platform/database/database';
import { namedError } from '#platform/errors/errors';
import { statement } from '#platform/postgres/statement';
import { NATIVE_COIN } from '#ledger/adapters/pool-contract';
import { CallReverted, ChainRpc, ChainUnavailable } from '#ledger/chain/chain-rpc';
import type { EncodedCall } from './contract-calls';

/** A node that did not answer in time is not asked again for so long. */
const REST_MS = 30_000;

/** Errors that many contracts have, besides those with a text. */
const ERRORS: Abi = parseAbi([
  'error EnforcedPause()',
  'error ERC4626ExceededMaxDeposit(address receiver, uint256 assets, uint256 max)',
  'error ERC4626ExceededMaxWithdraw(address owner, uint256 assets, uint256 max)',
]);

/** Errors of the contract itself, from the ABI of its adapter. */
const OWN_ERRORS = statement<{ contract: string }, { errors: Abi }>(
  'own_errors',
  { contract: 'text' },
  'SELECT errors FROM chain_contracts WHERE address = :contract LIMIT 1',
);

/** Asks a node whether a contract takes calls. Where no node can tell, it is left to the contract. */
@Injectable()
export class Refusals {
  /** How long an answer waits for the node, all in all. */
  nodeMs = 1000;
  private restsUntil = 0;

  constructor(
    private readonly database: Database,
    @Optional() private readonly chain?: ChainRpc,
  ) {}

  /**
   * @param block the ledger's: an older state of the node says nothing
   * @param paid what the wallet needs for them: its owner may still fill it, so a wallet that has less is not refused
   * @throws ApiError 409 if the contract refuses one of the calls, sent one after another
   */
  async refuse(from: string, calls: EncodedCall[], block: number, paid?: Paid): Promise<void> {
    if (!this.chain || performance.now() < this.restsUntil) return;
    const { chain } = this;
    const deadline = AbortSignal.timeout(this.nodeMs);
    const request: Request = (method, ...parameters) => chain.request(method, parameters, deadline);
    let refused: Refused | undefined;
    try {
      if (!(await refusalOf(request, from, calls, 'latest'))) return;
      const head = await request('eth_blockNumber');
      if (!(Number(head) >= block)) return;
      if (paid && !(await has(request, from, paid, head))) return;
      refused = await refusalOf(request, from, calls, head);
    } catch (error) {
      if (!(error instanceof ChainUnavailable || error instanceof CallReverted)) throw error;
      if (deadline.aborted) this.restsUntil = performance.now() + REST_MS;
    }
    if (!refused) return;
    const own = await this.database.read(OWN_ERRORS, { contract: refused.call.to });
    const message = `${refused.call.name}: ${reasonOf(refused.data, [...ERRORS, ...(own?.errors ?? [])])}`;
    throw namedError('contract_refuses', { details: [{ field: 'calls', message }] });
  }
}

export interface Paid {
  token: string;
  amount: bigint;
}

type Request = (method: string, ...parameters: unknown[]) => Promise<unknown>;

/** @throws CallReverted if the token has no balances */
async function has(
  request: Request,
  wallet: string,
  { token, amount }: Paid,
  block: unknown,
): Promise<boolean> {
  const data = encodeFunctionData({ abi: erc20Abi, functionName: 'balanceOf', args: [wallet as Address] });
  const balance =
    token === NATIVE_COIN
      ? await request('eth_getBalance', wallet, block)
      : await request('eth_call', { to: token, data }, block);
  return typeof balance === 'string' && /^0x[0-9a-f]+$/i.test(balance) && BigInt(balance) >= amount;
}

/** What `eth_simulateV1` reports of a call. */
type Simulated = { status?: string; returnData?: unknown; error?: { data?: unknown } } | null;

interface Refused {
  call: EncodedCall;
  /** The revert data, as the node gives it. */
  data: unknown;
}

/** @returns which call is refused, and why; undefined if none is @throws ChainUnavailable or CallReverted if the node cannot tell */
async function refusalOf(
  request: Request,
  from: string,
  calls: EncodedCall[],
  block: unknown,
): Promise<Refused | undefined> {
  const sent = calls.map(({ to, data, value }) => ({ from, to, data, value: value && numberToHex(value) }));
  // Every node has eth_call, but only for a call that needs none before it.
  if (calls.length > 1) {
    const simulated = await request('eth_simulateV1', { blockStateCalls: [{ calls: sent }] }, block);
    const results = (simulated as { calls?: Simulated[] }[] | null)?.[0]?.calls;
    const at = Array.isArray(results) ? results.findIndex((result) => result?.status === '0x0') : -1;
    const refused = results?.[at];
    return refused ? { call: calls[at], data: refused.error?.data ?? refused.returnData } : undefined;
  }
  try {
    await request('eth_call', sent[0], block);
    return undefined;
  } catch (error) {
    if (error instanceof CallReverted) return { call: calls[0], data: error.data };
    throw error;
  }
}

/** The text of a revert, or its error. */
function reasonOf(text: unknown, abi: Abi): string {
  // Nethermind writes "Reverted" before it.
  const [data] = /0x[0-9a-f]*/i.exec(typeof text === 'string' ? text : '') ?? ['0x'];
  try {
    const { errorName, args = [] } = decodeErrorResult({ abi, data: data as Hex });
    return errorName === 'Error' ? String(args[0]) : `${errorName}(${args.join(', ')})`;
  } catch {
    return data.length < 10 ? 'without a reason' : `error ${data.slice(0, 10)}`;
  }
}
