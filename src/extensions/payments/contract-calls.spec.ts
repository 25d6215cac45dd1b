import { ExamplesModule } from '#ledger/adapters/examples/examples.module';
import { type OwnCall, POOL_CONTRACT, type PoolContractOptions } from '#ledger/adapters/pool-contract';
import { ReferenceModule } from '#ledger/adapters/reference/reference-pool';
import { VaultsModule } from '#ledger/adapters/vaults/vault';
import type { OwnContract } from './calls.sql';
import { ownCall } from './contract-calls';

const [OWNER, MEMBER, CONTRACT] = ['a', 'b', 'c'].map((digit) => `0x${digit.repeat(40)}` as const);
const POOL = '019b7a3c-0000-7000-8000-000000000001';

const poolOf = (options: Pick<PoolContractOptions, 'calls' | 'poolsBy'>): OwnContract => ({
  calls: options.calls ?? {},
  poolsBy: options.poolsBy ?? 'reference',
  owner: OWNER,
  number: '7',
  isInPlace: true,
  block: 0,
});
const built = (name: OwnCall, own: OwnContract, caller: string): string =>
  ownCall(name, { contract: CONTRACT, own }, POOL, caller)!(5n).data;

/** Every call that an adapter of this repository describes. */
const described = [ExamplesModule, ReferenceModule, VaultsModule]
  .flatMap((module) => Reflect.getMetadata('providers', module) as (new () => object)[])
  .map((adapter) => ({
    adapter: adapter.name,
    own: poolOf(Reflect.getMetadata(POOL_CONTRACT, adapter) as PoolContractOptions),
  }))
  .flatMap(({ adapter, own }) =>
    (Object.keys(own.calls) as OwnCall[]).map((name) => ({ adapter, name, own })),
  );

describe('ownCall', () => {
  it.each(described)('builds $name of $adapter with no account but the caller', ({ name, own }) => {
    expect(built(name, own, OWNER)).not.toContain(MEMBER.slice(2));
    if (own.poolsBy === 'account')
      expect(() => built(name, own, MEMBER)).toThrow(expect.objectContaining({ code: 'forbidden' }));
    else expect(built(name, own, MEMBER)).not.toContain(OWNER.slice(2));
  });

  it('keeps members out of the pool of an account, whatever its calls name', () => {
    for (const deposit of [
      'pay(uint256 amount)',
      'pay(address pool, uint256 amount)',
      'pay(address account)',
    ]) {
      const own = poolOf({ calls: { deposit }, poolsBy: 'account' });
      expect(() => built('deposit', own, MEMBER)).toThrow(expect.objectContaining({ code: 'forbidden' }));
      expect(built('deposit', own, OWNER)).toMatch(/^0x/);
    }
  });

  it('refuses an amount that the function has no room for', () => {
    const own = poolOf({ calls: { deposit: 'save(uint128 amount)' }, poolsBy: 'account' });
    const build = ownCall('deposit', { contract: CONTRACT, own }, POOL, OWNER)!;
    expect(build(2n ** 128n - 1n)).toMatchObject({ name: 'deposit', to: CONTRACT });
    expect(() => build(2n ** 128n)).toThrow(
      expect.objectContaining({
        details: [{ field: 'amount', message: 'is more than the contract can take' }],
      }),
    );
  });
});
