import type { Look } from './look';

/**
 * Row: contract; the blocks that were read of it, and how many of these receipts prove; notes about a contract whose
 * events only a class of the indexer understands, and about unread logs.
 */
const COMPLETENESS = `
  SELECT c.address AS contract, greatest(u.block_number - c.first + 1, 0)::float8 AS blocks, (
    SELECT coalesce(sum(least(p.to_number, u.block_number) - greatest(p.from_number, c.first) + 1), 0)::float8
    FROM chain_proofs p WHERE p.contract = c.address AND p.to_number >= c.first AND p.from_number <= u.block_number
  ) AS proven, c.notes
  FROM chain_cursor u CROSS JOIN (
    SELECT address, min(from_block) AS first, max(concat(
      CASE WHEN adapter NOT IN ('ReferencePool', 'Vault') THEN '; only ' || adapter || ' knows their meaning, which is not compared' END,
      CASE WHEN type = 'lottery' AND adapter <> 'ReferencePool' THEN '; its draws are compared with stored events alone' END,
      CASE WHEN unread_topics <> '{}' THEN '; no method reads its logs with the topics ' || array_to_string(unread_topics, ', ') END
    )) AS notes FROM chain_contracts GROUP BY 1) c ORDER BY 1`;

/**
 * Reports for each contract how it is known that none of its events is missing: by its numbers, which were compared, or
 * by the headers and receipts with which the indexer has proven its blocks. For other blocks there is only the
 * endpoints' agreement.
 */
export async function tellCompleteness(look: Look): Promise<void> {
  const { findings, unnumbered } = look;
  type Row = { contract: string; blocks: number; proven: number; notes: string };
  for (const { contract, blocks, proven, notes } of await look.rows<Row>(COMPLETENESS)) {
    const open = unnumbered.has(contract) ? Math.max(0, blocks - proven) : 0;
    const how = unnumbered.has(contract)
      ? `events complete by headers and receipts in ${proven} of ${blocks} blocks`
      : 'events complete by their numbers';
    findings.completeness[contract] =
      how + (open > 0 ? `, by agreement of endpoints alone in ${open}` : '') + notes;
    if (open > 0)
      findings.skip(`events of contract ${contract} in ${open} blocks: nothing proves that none is missing`);
  }
}
