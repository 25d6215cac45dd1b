import { type Address, type Hash, type Hex, hexToBigInt, hexToNumber, numberToHex } from 'viem';
import { CallReverted, type ChainRpc, ChainUnavailable } from '#ledger/chain/chain-rpc';

/** EIP-1559. The contracts need a chain that has it. */
export interface Fees {
  maxFeePerGas: bigint;
  maxPriorityFeePerGas: bigint;
}

export interface Receipt {
  succeeded: boolean;
  /** Wei, with what a rollup takes for the chain below. */
  cost: bigint;
}

interface RawReceipt {
  status: Hex;
  gasUsed: Hex;
  effectiveGasPrice: Hex;
  l1Fee?: Hex;
}

/** What the keeper asks of the chain's node. All of it throws ChainUnavailable. */
export class KeeperNode {
  constructor(private readonly rpc: ChainRpc) {}

  async chainId(): Promise<number> {
    return hexToNumber((await this.rpc.request('eth_chainId', [])) as Hex);
  }

  /** Seconds, of the latest block. */
  async time(): Promise<bigint> {
    return hexToBigInt((await this.latest()).timestamp);
  }

  async balance(address: Address): Promise<bigint> {
    return hexToBigInt((await this.rpc.request('eth_getBalance', [address, 'latest'])) as Hex);
  }

  /** How many transactions of an account are mined, and how many with those that wait. */
  async nonces(address: Address): Promise<{ mined: number; waiting: number }> {
    const count = async (tag: string): Promise<number> =>
      hexToNumber((await this.rpc.request('eth_getTransactionCount', [address, tag])) as Hex);
    return { mined: await count('latest'), waiting: await count('pending') };
  }

  /** @returns undefined when the contract refuses, or there is none */
  async read(to: Address, data: Hex): Promise<Hex | undefined> {
    const answer = await refusable(this.rpc.request('eth_call', [{ to, data }, 'latest']));
    return answer === '0x' ? undefined : (answer as Hex | undefined);
  }

  /** What the call would use. @returns undefined when it would fail */
  async gasOf(from: Address, to: Address, data: Hex): Promise<bigint | undefined> {
    const answer = await refusable(this.rpc.request('eth_estimateGas', [{ from, to, data }, 'latest']));
    return answer === undefined ? undefined : hexToBigInt(answer as Hex);
  }

  /** Whether the call would fail after the transactions that wait, as far as the node knows and tells. */
  async failsAfterWaiting(from: Address, to: Address, data: Hex): Promise<boolean> {
    try {
      return (await refusable(this.rpc.request('eth_call', [{ from, to, data }, 'pending']))) === undefined;
    } catch (error) {
      if (error instanceof ChainUnavailable) return false;
      throw error;
    }
  }

  /** Enough for some blocks to come, even if each is full. */
  async fees(): Promise<Fees> {
    const { baseFeePerGas } = await this.latest();
    if (baseFeePerGas === undefined) throw new ChainUnavailable('the chain has no base fee (EIP-1559)');
    const maxPriorityFeePerGas = hexToBigInt((await this.rpc.request('eth_maxPriorityFeePerGas', [])) as Hex);
    return { maxPriorityFeePerGas, maxFeePerGas: 2n * hexToBigInt(baseFeePerGas) + maxPriorityFeePerGas };
  }

  async send(signed: Hex): Promise<void> {
    await this.rpc.request('eth_sendRawTransaction', [signed]);
  }

  async receipt(hash: Hash): Promise<Receipt | undefined> {
    const raw = (await this.rpc.request('eth_getTransactionReceipt', [hash])) as RawReceipt | null;
    if (!raw) return undefined;
    const price = hexToBigInt(raw.effectiveGasPrice);
    const cost = hexToBigInt(raw.gasUsed) * price + hexToBigInt(raw.l1Fee ?? numberToHex(0));
    return { succeeded: raw.status === '0x1', cost };
  }

  private async latest(): Promise<{ timestamp: Hex; baseFeePerGas?: Hex }> {
    const block = await this.rpc.request('eth_getBlockByNumber', ['latest', false]);
    return block as { timestamp: Hex; baseFeePerGas?: Hex };
  }
}

/** What the contract refuses is undefined. */
async function refusable(answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof CallReverted) return undefined;
    throw error;
  }
}
