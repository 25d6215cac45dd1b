import { type Address, getAddress, isAddress } from 'viem';
import { Listeners, type Observable } from '../observable.js';
import { type TokenStore, claimsOf } from '../tokens.js';
import { type Payment, type PaymentStore, depositIdOf } from './payment.js';

/** The payments of the store, of which those of the account that is signed in are listed. */
export class PaymentList {
  private readonly listeners = new Listeners<readonly Payment[]>();
  private turn: Promise<unknown> = Promise.resolve();
  private current: readonly Payment[] = [];

  constructor(
    private readonly store: PaymentStore,
    private readonly tokens: TokenStore,
    private readonly session: Observable<unknown>,
  ) {}

  /** The list as it was last read. The same array as long as nothing is different. */
  get state(): readonly Payment[] {
    return this.current;
  }

  /** Newest first. */
  async list(): Promise<readonly Payment[]> {
    const list = (await this.kept()).filter(({ dismissed }) => !dismissed);
    if (JSON.stringify(list) !== JSON.stringify(this.current)) this.current = list;
    return this.current;
  }

  async find(id: string): Promise<Payment | undefined> {
    return (await this.list()).find((each) => each.id === id);
  }

  /** The account's payment of the deposit that is not done, even if it is listed no more. */
  async paymentOf(depositId: string): Promise<Payment | undefined> {
    return (await this.kept()).find((each) => depositIdOf(each) === depositId && each.state !== 'done');
  }

  subscribe(listener: (payments: readonly Payment[]) => void): () => void {
    let shown: readonly Payment[] | undefined;
    const stop = this.listeners.add((list) => {
      if (list === shown) return;
      shown = list;
      listener(list);
    });
    const look = (): void => void this.emit();
    const stops = [stop, this.store.watch?.(look), this.session.subscribe(look)];
    look();
    return () => stops.forEach((each) => each?.());
  }

  /**
   * Writes what is made of the payment as it is stored by then, so that nothing older takes the place of what was
   * written meanwhile. A payment never fails because it could not be written down.
   * @param make undefined leaves it as it is
   */
  async change(id: string, make: (stored: Payment | undefined) => Payment | undefined): Promise<void> {
    let changed = false;
    const write = async (): Promise<void> => {
      const made = make((await this.all()).find((each) => each.id === id));
      if (!made) return;
      await this.store.put(made);
      changed = true;
    };
    this.turn = this.turn.then(write).catch(() => undefined);
    await this.turn;
    // A listener may answer each call with one of `confirmed`: with nothing new, the two would never end.
    if (changed) await this.emit();
  }

  async remove(id: string): Promise<void> {
    await this.store.remove(id);
    await this.emit();
  }

  private async kept(): Promise<readonly Payment[]> {
    const account = await signedInAccount(this.tokens);
    return (await this.all()).filter((each) => each.account?.toLowerCase() === account?.toLowerCase());
  }

  private async all(): Promise<readonly Payment[]> {
    return Promise.resolve(this.store.list()).catch(() => []);
  }

  private async emit(): Promise<void> {
    this.listeners.call(await this.list());
  }
}

/** The account that is signed in: the claim `address` of the token. undefined without a token that says so. */
export async function signedInAccount(tokens: TokenStore): Promise<Address | undefined> {
  const { address } = claimsOf((await tokens.get()) ?? '');
  return typeof address === 'string' && isAddress(address, { strict: false })
    ? getAddress(address)
    : undefined;
}
