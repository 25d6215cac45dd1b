import { Module } from '@nestjs/common';
import { parseAbi } from 'viem';
import type { Happening } from '#ledger/adapters/happening';
import { type EventOf, PoolContract, eventsOf } from '#ledger/adapters/pool-contract';

const abi = parseAbi([
  'event Deposit(address indexed sender, address indexed owner, uint256 assets, uint256 shares)',
  'event Withdraw(address indexed sender, address indexed receiver, address indexed owner, uint256 assets, uint256 shares)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
]);
type Event<Name extends Parameters<typeof On>[0]> = EventOf<typeof abi, Name>;
const On = eventsOf(abi);

const views = { price: 'convertToAssets(uint256 amount)' };
/** Yield is paid out with what it was earned by, so there is no call for it alone. */
const calls = {
  deposit: 'deposit(uint256 amount, address pool)',
  withdraw: 'withdraw(uint256 amount, address account, address pool)',
};

/** Vaults of ERC-4626, such as OpenZeppelin's. What an account has of one is its pool. */
@PoolContract({
  name: 'erc4626',
  types: ['individual'],
  abi,
  poolsBy: 'account',
  views,
  calls,
  verifiedAs: 'Vault',
})
export class Vault {
  @On('Deposit')
  deposit({ owner, assets, shares }: Event<'Deposit'>): Happening {
    return { kind: 'SharesBought', holder: owner, account: owner, amount: assets, shares };
  }

  /** Anyone can take nothing out for anyone. */
  @On('Withdraw')
  withdraw({ owner, assets, shares }: Event<'Withdraw'>): Happening | undefined {
    if (assets === 0n && shares === 0n) return undefined;
    return { kind: 'SharesSold', holder: owner, account: owner, amount: assets, shares };
  }

  /** Includes shares minted or burned with the two events above. Anyone can transfer zero shares for any account. */
  @On('Transfer')
  transfer({ from, to, value }: Event<'Transfer'>): Happening | undefined {
    if (value === 0n || from === to) return undefined;
    return { kind: 'SharesMoved', holder: from, account: to, shares: value };
  }
}

const callsOfPool = {
  deposit: 'deposit(uint256 amount, address account)',
  withdraw: 'withdraw(uint256 amount, address account, address account)',
};

/** The same vaults, of which each is one pool, of all who have something of it. */
@PoolContract({
  name: 'erc4626-pool',
  types: ['cooperative'],
  abi,
  poolsBy: 'contract',
  views,
  calls: callsOfPool,
})
export class VaultPool extends Vault {}

@Module({ providers: [Vault, VaultPool] })
export class VaultsModule {}
