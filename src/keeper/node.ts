import {
  type Abi,
  type Address,
  type ContractFunctionArgs,
  type ContractFunctionName,
  type ContractFunctionReturnType,
  type Hash,
  type Hex,
  decodeFunctionResult,
  encodeFunctionData,
  hexToBigInt,
  hexToNumber,
  numberToHex,
} from 'viem';
import { CallReverted, type ChainRpc, ChainUnavailable, isBeyondSeconds } from '#ledger/chain/chain-rpc';

/** EIP-1559. The contracts need a chain that has it. */
export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

export interface Receipt {
  succeeded: boolean;
  /** Wei, with what a rollup takes for the chain below; undefined if the node does not say the price. */
  cost?: bigint;
}

/** What the keeper asks of the chain's node. All of it throws ChainUnavailable. */
export class KeeperNode {
  constructor(private readonly rpc: ChainRpc) {}

  async chainId(): Promise<number> {
    return hexToNumber(await this.ask('eth_chainId', []));
  }

  /** Seconds, of the latest block. */
  async time(): Promise<bigint> {
    return hexToBigInt((await this.latest()).timestamp);
  }

  async balance(address: Address): Promise<bigint> {
    return hexToBigInt(await this.ask('eth_getBalance', [address, 'latest']));
  }

  /** How many transactions of an account are mined, and how many with those that wait. */
  async nonces(address: Address): Promise<{ mined: number; waiting: number }> {
    const count = async (tag: string): Promise<number> =>
      hexToNumber(await this.ask('eth_getTransactionCount', [address, tag]));
    const mined = await count('latest');
    // Some nodes refuse the tag. A waiting transaction is then replaced, so its nonce is still used only once.
    return { mined, waiting: await count('pending').catch(ifUnavailable(() => mined)) };
  }

  /** What a view of a contract says. @returns undefined when the contract refuses, or there is none */
  async read<const A extends Abi, Name extends ContractFunctionName<A, 'view'>>(
    to: Address,
    abi: A,
    functionName: Name,
    args: ContractFunctionArgs<A, 'view', Name>,
  ): Promise<ContractFunctionReturnType<A, 'view', Name> | undefined> {
    const view = { abi: abi as Abi, functionName: functionName as string };
    const data = encodeFunctionData({ ...view, args: args as readonly unknown[] });
    const answer = await this.ask('eth_call', [{ to, data }, 'latest']).catch(ifReverted);
    if (answer === undefined || answer === '0x') return undefined;
    return decodeFunctionResult({ ...view, data: answer }) as ContractFunctionReturnType<A, 'view', Name>;
  }

  /** What the call would use. @returns undefined when it would fail */
  async gasOf(from: Address, to: Address, data: Hex): Promise<bigint | undefined> {
    const answer = await this.ask('eth_estimateGas', [{ from, to, data }, 'latest']).catch(ifReverted);
    return answer && hexToBigInt(answer);
  }

  /** Whether the call would fail after the transactions that wait, as far as the node knows and tells. */
  async failsAfterWaiting(from: Address, to: Address, data: Hex): Promise<boolean> {
    const answer = this.ask('eth_call', [{ from, to, data }, 'pending']).catch(ifReverted);
    return (await answer.catch(ifUnavailable(() => '0x' as const))) === undefined;
  }

  /** Enough for some blocks to come, even if each is full. */
  async fees(): Promise<Fees> {
    const { baseFeePerGas } = await this.latest();
    if (baseFeePerGas === undefined) throw new ChainUnavailable('the chain has no base fee (EIP-1559)');
    const base = hexToBigInt(baseFeePerGas);
    const wei = async (method: string): Promise<bigint> => hexToBigInt(await this.ask(method, []));
    // If a node lacks the first method, the gas price less the base fee gives the same tip.
    const tip = await wei('eth_maxPriorityFeePerGas').catch(
      ifUnavailable(async () => (await wei('eth_gasPrice')) - base),
    );
    const maxPriorityFeePerGas = tip > 0n ? tip : 0n;
    return { maxPriorityFeePerGas, maxFeePerGas: 2n * base + maxPriorityFeePerGas };
  }

  async send(signed: Hex): Promise<void> {
    await this.ask('eth_sendRawTransaction', [signed]);
  }

  async receipt(hash: Hash): Promise<Receipt | undefined> {
    type Raw = { status: Hex; gasUsed: Hex; effectiveGasPrice?: Hex; l1Fee?: Hex };
    const raw = await this.ask<Raw | null>('eth_getTransactionReceipt', [hash]);
    if (!raw) return undefined;
    const { status, gasUsed, effectiveGasPrice: price, l1Fee = numberToHex(0) } = raw;
    const cost = price && hexToBigInt(gasUsed) * hexToBigInt(price) + hexToBigInt(l1Fee);
    return { succeeded: status === '0x1', cost };
  }

  private async latest(): Promise<{ timestamp: Hex; baseFeePerGas?: Hex }> {
    type Latest = { timestamp: Hex; baseFeePerGas?: Hex };
    const latest = await this.ask<Latest>('eth_getBlockByNumber', ['latest', false]);
    if (isBeyondSeconds(latest.timestamp))
      throw new ChainUnavailable('the node sends the times of blocks in a unit other than seconds');
    return latest;
  }

  private async ask<T = Hex>(method: string, params: unknown[]): Promise<T> {
    return (await this.rpc.request(method, params)) as T;
  }
}

/** A handler that answers one kind of error otherwise. */
const on =
  <T>(kind: typeof CallReverted | typeof ChainUnavailable, other: () => T | Promise<T>) =>
  (error: unknown): T | Promise<T> => {
    if (error instanceof kind) return other();
    throw error;
  };
/** For methods that not every node has. */
const ifUnavailable = <T>(other: () => T | Promise<T>) => on(ChainUnavailable, other);
/** The contract refuses. */
const ifReverted = on(CallReverted, () => undefined);
