import { encodeFunctionData, parseAbi } from 'viem';
import { certain, compareAnswers } from './chain';
import { lastBlockOf } from './chain.sql';
import { type Look, halves } from './look';
import { type AtCursor, ethCall } from '#verify/contract/holdings';

const abi = parseAbi(['function balanceOf(address account) view returns (uint256)']);

/**
 * The shares that accounts have after all events that were read, and the block up to which these are; nothing for a
 * contract that is no vault. Parameters: vaults, accounts.
 */
const HELD = `
  SELECT w.vault, w.account, coalesce(h.shares, 0)::text AS shares,
    coalesce(${lastBlockOf('w.vault')}, c.block_number) AS block, c.block_number AS "cursorNumber", c.block_hash AS "cursorHash"
  FROM chain_cursor c CROSS JOIN unnest($1::text[], $2::text[]) AS w(vault, account)
  LEFT JOIN share_holdings h ON h.vault = w.vault AND h.account = w.account
  WHERE EXISTS (SELECT FROM chain_contracts k WHERE k.address = w.vault AND k.pools_by IN ('account', 'contract'))`;

type Held = AtCursor & Record<'vault' | 'account' | 'shares' | 'block', string>;

/** Compares the shares that accounts have of vaults with what these say. @param keys vaults and accounts. @throws NotComparable */
export async function compareBalances(look: Look, keys: string[]): Promise<void> {
  const { differing } = await certain(look, async (again) => {
    const rows = await look.rows<Held>(HELD, ...halves(again ? [...again] : keys));
    const questions = rows.map(({ vault, account, shares, block }) => {
      const args = [account as `0x${string}`] as const;
      const data = encodeFunctionData({ abi, functionName: 'balanceOf', args });
      const key = `${vault} ${account}`;
      return {
        key,
        kind: 'chain.shares',
        id: key,
        wanted: BigInt(shares),
        call: ethCall(vault, data, block),
      };
    });
    return compareAnswers(look, rows[0], questions);
  });
  look.findings.count('shares on the chain', keys.length);
  look.findings.doubt(differing);
}
