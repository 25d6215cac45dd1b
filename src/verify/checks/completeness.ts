import type { Look } from './look';

/**
 * What receipts prove of contracts that do not number their events. Parameter: contracts. Row: contract, blocks that
 * were read of it, how many of these are proven.
 */
const PROVEN_BLOCKS = `
  SELECT c.address AS contract, greatest(u.block_number - c.first + 1, 0)::float8 AS blocks, (
    SELECT coalesce(sum(least(p.to_number, u.block_number) - greatest(p.from_number, c.first) + 1), 0)::float8
    FROM chain_proofs p WHERE p.contract = c.address AND p.to_number >= c.first AND p.from_number <= u.block_number
  ) AS proven
  FROM (SELECT address, min(from_block) AS first FROM chain_contracts WHERE address = ANY($1::text[]) GROUP BY 1) c
  CROSS JOIN chain_cursor u ORDER BY 1`;

/**
 * Notes about contracts whose events only a class of the indexer understands, about those with unread logs, and those that
 * paid out more than the ledger had of a pool. Counts no further than 1,000: anyone can add such events.
 * Row: contract, the text to append to its report.
 */
const NOTES = `
  SELECT address AS contract, max(concat(
    CASE WHEN adapter NOT IN ('ReferencePool', 'Vault') THEN '; only ' || adapter || ' knows their meaning, which is not compared' END,
    CASE WHEN type = 'lottery' AND adapter <> 'ReferencePool' THEN '; its draws are compared with stored events alone' END,
    CASE WHEN unread_topics <> '{}' THEN '; no method reads its logs with the topics ' || array_to_string(unread_topics, ', ') END,
    CASE WHEN beyond > 0 THEN '; ' || beyond || CASE beyond WHEN 1000 THEN ' or more' ELSE '' END ||
      ' of its events pay out more than the ledger has of their pool: see set-aside' END
  )) AS notes
  FROM chain_contracts c CROSS JOIN LATERAL (SELECT count(*) AS beyond FROM (
    SELECT FROM chain_events e WHERE e.outcome IN ('OVERDRAW', 'REFUSED', 'FAILED') AND e.outcome = 'OVERDRAW'
      AND e.contract = c.address LIMIT 1000) n) o GROUP BY 1`;

interface ProvenBlocks {
  contract: string;
  blocks: number;
  proven: number;
}

/**
 * Reports for each contract how it is known that none of its events is missing: by its numbers, which were compared, or
 * by the headers and receipts with which the indexer has proven its blocks. For other blocks there is only the
 * endpoints' agreement. Logs that no method reads are not events: the report names them, and events whose meaning is
 * not compared.
 */
export async function tellCompleteness(look: Look): Promise<void> {
  const { findings, unnumbered } = look;
  const all = await look.rows<{ contract: string; notes: string }>(NOTES);
  const notes = new Map(all.map(({ contract, notes: of }) => [contract, of]));
  const tell = (contract: string, how: string): void => findings.tell(contract, how + notes.get(contract));
  for (const { contract } of all)
    if (!unnumbered.has(contract)) tell(contract, 'events complete by their numbers');
  if (unnumbered.size === 0) return;
  for (const { contract, blocks, proven } of await look.rows<ProvenBlocks>(PROVEN_BLOCKS, [...unnumbered])) {
    const open = Math.max(0, blocks - proven);
    const how = `events complete by headers and receipts in ${proven} of ${blocks} blocks`;
    tell(contract, open === 0 ? how : `${how}, by agreement of endpoints alone in ${open}`);
    if (open > 0)
      findings.skip(`events of contract ${contract} in ${open} blocks: nothing proves that none is missing`);
  }
}
