import { encodeFunctionData, parseAbi } from 'viem';
import { ChainComparison } from '#verify/checks/chain';
import { lastBlockOf } from '#verify/checks/chain.sql';
import { type AtCursor, ethCall } from '#verify/contract/holdings';
import { KeyBatchSize } from '#verify/checks/walk';
import type { Walk } from '#verify/checks/walk';
import { FIRST_HOLDER } from './shares';
import { NEXT_HOLDERS } from './shares.sql';

const abi = parseAbi(['function balanceOf(address account) view returns (uint256)']);

/** Accounts whose shares are asked for at once. */
const MOST_ACCOUNTS = 500;

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

/** Compares the shares that accounts have of vaults with what these say. */
export class BalanceComparison extends ChainComparison {
  /** @throws NotComparable */
  async everyBalance(walk: Walk): Promise<void> {
    await walk.everyKey(
      new KeyBatchSize(20, MOST_ACCOUNTS),
      (after, limit) => walk.keys(NEXT_HOLDERS, ...after.split(' '), limit),
      (keys) => this.balances(keys),
      FIRST_HOLDER,
    );
  }

  /** @param keys vaults and accounts, a blank between the two. @throws NotComparable */
  async balances(keys: string[]): Promise<void> {
    const { differing } = await this.certain(keys, async (some) => {
      const [vaults, accounts] = [0, 1].map((i) => some.map((key) => key.split(' ')[i]));
      const { rows } = await this.client.query<Held>(HELD, [vaults, accounts]);
      const questions = rows.map(({ vault, account, shares, block }) => {
        const data = encodeFunctionData({
          abi,
          functionName: 'balanceOf',
          args: [account as `0x${string}`],
        });
        const key = `${vault} ${account}`;
        return {
          key,
          kind: 'chain.shares',
          id: key,
          wanted: BigInt(shares),
          call: ethCall(vault, data, block),
        };
      });
      return { asked: questions, differing: rows[0] ? await this.compare(rows[0], questions) : [] };
    });
    this.findings.count('shares on the chain', keys.length);
    differing.forEach((each) => this.findings.add(each));
  }
}
