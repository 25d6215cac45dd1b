import { SavingsClient } from '@pooled-savings/client';
import { type Address, type Hash, type Hex, hexToString, parseEther } from 'viem';
import { type DevClient, connect, devAccount, execute } from '#dev/deploy';
import { TEN, TestApp } from '../app';
import { ChainBench } from '../chain/chain-bench';
import { minedByHand } from '../chain/contracts';

interface Asked {
  method: string;
  params?: any;
}
interface Sent {
  from: Address;
  to: Address;
  data?: Hex;
  gas?: Hex;
  value?: Hex;
}
type Answer = (asked: Asked, next: () => Promise<unknown>) => unknown;

const refusal = (code: number, message: string): Error => Object.assign(new Error(message), { code });
export const REJECTED = refusal(4001, 'Rejected.');
export const UNSUPPORTED = refusal(4200, 'No such method.');

/** A browser's wallet over real accounts: EIP-1193. What a test says of a method comes first. */
export class BrowserWallet {
  readonly asked: string[] = [];
  /** By method. */
  readonly answers: Record<string, Answer | undefined> = {};
  /** How often the client looks at the chain, as viem's own clients say it. */
  readonly pollingInterval = 100;

  constructor(
    public accounts: DevClient[],
    public chainId = 31337,
  ) {}

  readonly request = (async (asked: Asked): Promise<unknown> => {
    this.asked.push(asked.method);
    const next = (): Promise<unknown> => this.usual(asked);
    const answer = this.answers[asked.method];
    return answer ? answer(asked, next) : next();
  }) as never;

  /** Wallets that do not sign permits send approvals. */
  without(...methods: string[]): this {
    for (const method of methods)
      this.answers[method] = () => {
        throw UNSUPPORTED;
      };
    return this;
  }

  count(method: string): number {
    return this.asked.filter((each) => each === method).length;
  }

  get sent(): number {
    return this.count('eth_sendTransaction');
  }

  private async usual({ method, params }: Asked): Promise<unknown> {
    const addresses = this.accounts.map(({ account }) => account.address);
    switch (method) {
      case 'eth_requestAccounts':
      case 'eth_accounts':
        return addresses;
      case 'eth_chainId':
        return `0x${this.chainId.toString(16)}`;
      case 'wallet_switchEthereumChain':
        this.chainId = Number(params[0].chainId);
        return null;
      case 'wallet_getCapabilities':
      case 'wallet_sendCalls':
        throw UNSUPPORTED;
      case 'personal_sign':
        return this.of(params[1]).signMessage({ message: hexToString(params[0] as Hex) });
      case 'eth_sendTransaction':
        return this.send(params[0]);
      default:
        return this.accounts[0].request({ method, params } as never);
    }
  }

  async send({ from, to, data, gas, value }: Sent): Promise<Hash> {
    return this.of(from).sendTransaction({
      to,
      data,
      gas: gas && BigInt(gas),
      value: value && BigInt(value),
    });
  }

  /** Sends several calls without estimating gas: a call may depend on an earlier one that is not mined yet. */
  async sendAll({ from, calls }: { from: Address; calls: { to: Address; data: Hex }[] }): Promise<Hash[]> {
    const hashes: Hash[] = [];
    for (const { to, data } of calls) hashes.push(await this.send({ from, to, data, gas: '0x7a120' }));
    return hashes;
  }

  private of(address: string): DevClient {
    return this.accounts.find(({ account }) => account.address.toLowerCase() === address.toLowerCase())!;
  }
}

/** A service, an indexer and a chain, with savers who have tokens. */
export class PayingBench extends ChainBench {
  readonly app = new TestApp();

  /** @returns a saver who has tokens */
  async begin(): Promise<DevClient> {
    await this.app.start({}, undefined, async (database) => {
      await this.start(database);
      return { ...this.settings(), PUBLIC_RPC_URLS: this.anvil.url, CHAIN_NAME: 'Local chain' };
    });
    await this.app.listen();
    await this.follow();
    const saver = await this.funded(5);
    await this.atHead();
    return saver;
  }

  async end(): Promise<void> {
    await this.stop();
    await this.app.stop();
  }

  /** One of the chain's accounts, with tokens. */
  async funded(index: number): Promise<DevClient> {
    const saver = await connect(this.anvil.url, devAccount(index));
    await execute(saver, 'TestToken', this.deployment.token, 'mint', [
      saver.account.address,
      parseEther('1000'),
    ]);
    return saver;
  }

  client(options: Partial<ConstructorParameters<typeof SavingsClient>[0]> = {}): SavingsClient {
    return new SavingsClient({ baseUrl: `http://127.0.0.1:${this.app.port}`, ...options });
  }

  /** Blocks come only by `mine` while the work lasts. */
  held<T>(work: () => Promise<T>): Promise<T> {
    return minedByHand(this.owner, work).finally(() => this.mine(1));
  }
}

export const newPool = (client: SavingsClient): Promise<{ id: string; depositId: string }> =>
  client.pools.create({ type: 'cooperative', initialDeposit: TEN });
