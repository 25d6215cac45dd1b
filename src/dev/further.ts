import type { Address } from 'viem';
import { POOL_TYPES } from '#values/types';
import type { ContractName, Deployment, Further } from './deploy';

/** The contracts of others, which hold the pools that ask for them: what POOL_CONTRACTS calls each, and what is deployed. */
export const FURTHER = {
  vault: { named: 'individual:erc4626+', contract: 'TestVault' },
  savings: { named: 'individual:accounts+', contract: 'AccountSavings' },
  clubs: { named: 'cooperative:clubs+', contract: 'Clubs' },
} as const satisfies Record<Further, { named: string; contract: ContractName }>;
export const FURTHER_NAMES = Object.keys(FURTHER) as Further[];

/** Those of others that it has, by name. */
export const furtherOf = (deployment: Partial<Record<Further, Address>>): Record<string, Address> =>
  Object.fromEntries(FURTHER_NAMES.flatMap((name) => (deployment[name] ? [[name, deployment[name]]] : [])));

/** As POOL_CONTRACTS wants it: new pools get the last of a type, or one of others that they ask for. */
export const poolContracts = (deployment: Pick<Deployment, 'contracts' | 'former' | Further>): string =>
  [
    ...POOL_TYPES.flatMap((type) =>
      [...(deployment.former?.[type] ?? []), deployment.contracts[type]].map(
        (address) => `${type}=${address}`,
      ),
    ),
    ...Object.entries(furtherOf(deployment)).map(
      ([name, address]) => `${FURTHER[name as Further].named}=${address}`,
    ),
  ].join(',');
