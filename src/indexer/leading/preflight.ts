import { Injectable, Logger } from '@nestjs/common';
import type { Client } from 'pg';
import { columnsOf } from '#platform/postgres/columns';
import { IndexerSettings } from '#settings/indexer.settings';
import { ContractAdapters } from '#indexer/adapters/contract-adapters';
import { WrongChain, openCursor } from '#indexer/agreement/chain-identity';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { followContracts } from '#indexer/contracts/contract-set';
import type { ChainCursor } from '#indexer/ledger/chain-cursor';
import type { WatchedEndpoint } from '#indexer/reading/watched-endpoint';
import type { Lead } from './leader';
import { type ReadTokens, contractsWithoutCode, readContractFacts, readTokens } from './contract-facts';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';

/** Time before the next attempt to read missing facts. It doubles: some contracts never name their token. */
const RETRY_MS = { first: 5000, most: 300_000 };

/** Checks that settings, database and chain fit each other before anything is read. */
@Injectable()
export class Preflight {
  private readonly logger = new Logger(Preflight.name);
  /** Contracts that cannot be followed, and why: their amounts could be of any token. */
  barred: ReadonlyMap<string, string> = new Map();
  /** No contract has the first token of the ledger any more, as a later attempt found. */
  refusal?: WrongChain;
  readonly failure = 'the token of the contracts could not be read';
  /** Whether anything could not be read, or a contract was not there. */
  private isLacking = false;
  private retryMs = RETRY_MS.first;
  private epoch = 0;

  constructor(
    private readonly environment: IndexerSettings,
    private readonly endpoints: RpcEndpoints,
    private readonly adapters: ContractAdapters,
    private readonly telemetry: IndexerTelemetry,
  ) {}

  /** Takes the cursor over. @throws WrongChain, RetryableChainError */
  async open({ client, writer }: Lead, reader: WatchedEndpoint): Promise<ChainCursor> {
    const { environment, endpoints } = this;
    const cursor = await openCursor(client, writer, reader, endpoints, environment);
    await followContracts(client, reader.source, cursor, environment, this.logger, this.adapters.of);
    this.epoch = cursor.epoch;
    this.retryMs = RETRY_MS.first;
    await this.keepFacts(client, reader);
    if (this.isLacking) this.logger.warn('not all facts of the contracts could be read; trying again');
    return cursor;
  }

  mayRun(): boolean {
    return this.telemetry.role === 'leading' && this.isLacking;
  }

  pauseMs(): number {
    return (this.retryMs = Math.min(this.retryMs * 2, RETRY_MS.most));
  }

  /** Tries again to read what could not be read at the start. It writes only while this process leads. */
  async round(client: Client): Promise<void> {
    try {
      await this.keepFacts(client);
    } catch (error) {
      if (!(error instanceof WrongChain)) throw error;
      this.refusal = error;
    }
  }

  /** Logs each contract that is missing, and each that has appeared, once. */
  private async lookForContracts(heard: WatchedEndpoint[]): Promise<void> {
    const before = this.telemetry.missing;
    const missing = await contractsWithoutCode(heard, this.endpoints.contracts);
    this.telemetry.missing = missing;
    for (const address of missing)
      if (!before.has(address)) this.logger.error(`POOL_CONTRACTS: there is no contract at ${address}`);
    for (const address of before)
      if (!missing.has(address)) this.logger.log(`there is a contract at ${address} now`);
  }

  /** An indexer can work without these: what cannot be read now leaves what the database has. */
  private async keepFacts(client: Client, reader?: WatchedEndpoint): Promise<void> {
    const { contracts, all } = this.endpoints;
    const heard = all.filter((each) => each === reader || each.heard);
    this.isLacking = true;
    await this.lookForContracts(heard);
    const tokens = await readTokens(heard, contracts, (each) => this.adapters.of(each)?.token);
    const facts = await readContractFacts(heard, contracts);
    if (tokens) await this.judgeTokens(client, tokens);
    const known = (tokens?.known ?? []).filter(({ contract }) => !this.barred.has(contract));
    const columns = columnsOf(known, 'contract', 'address', 'symbol', 'decimals');
    await client.query(KEEP, [this.epoch, ...columns, contracts]);
    if (facts)
      await client.query(KEEP_CONTRACTS, [this.epoch, contracts, ...columnsOf(facts, 'minimum', 'circles')]);
    this.isLacking = !tokens || !facts || this.barred.size > 0 || this.telemetry.missing.size > 0;
  }

  /** Bars contracts whose amounts could be of any token. @throws WrongChain when no contract has the first token now */
  private async judgeTokens(client: Client, { known, unknown }: ReadTokens): Promise<void> {
    const { rows } = await client.query<{ contract: string; token: string; first: string | null }>(STORED);
    const stored = new Map(rows.map(({ contract, ...row }) => [contract, row]));
    const barred = new Map<string, string>();
    for (const [contract, reason] of unknown)
      if (!stored.has(contract) && !this.telemetry.missing.has(contract)) barred.set(contract, reason);
    for (const { contract, address } of known) {
      const { token = address, first = null } = stored.get(contract) ?? {};
      if (token === address || first === null) continue;
      const remedy = `rewind --contract ${contract} --to ${Number(first) - 1}`;
      barred.set(
        contract,
        `its amounts are of the token ${token}, and its token is ${address} now: ${remedy}`,
      );
    }
    this.barred = barred;
    const now = this.endpoints.contracts.flatMap((contract) => stored.get(contract)?.token ?? []);
    if (known.length > 0) await refuseChange(client, [...now, ...known.map(({ address }) => address)]);
  }
}

/**
 * One statement, so that only the cursor's own leader writes. The first token stays the first while a contract has it.
 */
const KEEP = `
  WITH told AS (
    SELECT t.*, f.token_address IS NOT DISTINCT FROM t.token AS former
    FROM unnest($2::text[], $3::text[], $4::text[], $5::smallint[]) WITH ORDINALITY AS t(contract, token, symbol, decimals, place)
    LEFT JOIN chain_facts f ON true
  ), kept AS (
    INSERT INTO chain_tokens (contract, token, symbol, decimals)
    SELECT contract, token, symbol, decimals FROM told WHERE EXISTS (SELECT FROM chain_cursor WHERE epoch = $1)
    ON CONFLICT ON CONSTRAINT chain_tokens_pkey DO UPDATE SET
      token = excluded.token, symbol = excluded.symbol, decimals = excluded.decimals
  )
  INSERT INTO chain_facts AS f (chain_id, token_address, token_symbol, token_decimals)
  SELECT chain_id, t.token, t.symbol, t.decimals
  FROM chain_cursor LEFT JOIN (SELECT * FROM told
    -- A contract that is left out because its token has changed still has amounts of the first token.
    WHERE former OR NOT EXISTS (SELECT FROM chain_facts f JOIN chain_tokens k ON k.token = f.token_address
      WHERE k.contract = ANY ($6) AND k.contract <> ALL ($2))
    ORDER BY former DESC, place LIMIT 1) t ON true WHERE epoch = $1
  ON CONFLICT ON CONSTRAINT chain_facts_pkey DO UPDATE SET
    chain_id = excluded.chain_id,
    token_address = coalesce(excluded.token_address, f.token_address),
    token_symbol = coalesce(excluded.token_symbol, f.token_symbol),
    token_decimals = coalesce(excluded.token_decimals, f.token_decimals)`;

const KEEP_CONTRACTS = `
  UPDATE chain_contracts c SET minimum = m.minimum, circles = m.circles
  FROM unnest($2::text[], $3::numeric[], $4::boolean[]) AS m(address, minimum, circles)
  WHERE c.address = m.address AND (c.minimum, c.circles) IS DISTINCT FROM (m.minimum, m.circles)
    AND EXISTS (SELECT FROM chain_cursor WHERE epoch = $1)`;

/** SQL: the tokens as the ledger has them. `first` is the block of the contract's first event; null: it has none. */
const STORED = `
  SELECT k.contract, k.token,
    (SELECT e.block_number FROM chain_events e WHERE e.contract = k.contract ORDER BY e.seq LIMIT 1) AS first
  FROM chain_tokens k`;

/** @throws WrongChain when the ledger has sums in a token that is none of these */
async function refuseChange(client: Client, tokens: string[]): Promise<void> {
  const { rows } = await client.query<{ token: string; first: string }>(CHANGED, [tokens]);
  if (!rows[0]) return;
  const { token, first } = rows[0];
  throw new WrongChain(
    `the ledger holds amounts of the token ${token}, but the contracts of POOL_CONTRACTS now have ` +
      `${[...new Set(tokens)].join(', ')}. Name contracts of the former token, or take all events back: ` +
      `rewind --to ${Number(first) - 1}`,
  );
}

const CHANGED = `
  SELECT f.token_address AS token, (SELECT min(block_number) FROM chain_events) AS first
  FROM chain_facts f WHERE f.token_address <> ALL ($1) AND EXISTS (SELECT FROM chain_events)`;
