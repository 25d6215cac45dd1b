import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { encodeCall, readView } from '#ledger/adapters/own-call';
import { MOST_DAYS, PRICED_SHARES } from '#ledger/chain/chain.sql';
import { IndexerSettings } from '#settings/indexer.settings';
import { OtherBlock, amountOf } from '#verify/checks/chain';
import type { Question } from '#verify/contract/holdings';
import { ContractAdapters } from '#indexer/adapters/contract-adapters';
import { RpcEndpoints } from '#indexer/agreement/rpc-endpoints';
import { transaction } from '#indexer/ledger/transaction';
import { hex } from '#indexer/reading/raw-chain';
import type { Call } from '#indexer/reading/rpc';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { AgreedChain } from '#indexer/agreement/agreed-chain';

const ROUND_MS = 5000;
/** Vaults that are asked in a round. */
const MOST_VAULTS = 40;
interface Told {
  vault: string;
  price: bigint;
}

interface Due {
  vault: string;
  view: string;
  cursorNumber: string;
  cursorHash: string;
}

/**
 * Asks vaults what their shares are worth, at the last block in effect. A price that the endpoints disagree on is not
 * taken; one of a block that is taken back goes with it.
 */
@Injectable()
export class PriceWatch {
  readonly failure = 'the prices of shares could not be read';
  private readonly chain: AgreedChain;
  private readonly hasVaults: () => boolean;

  constructor(
    { RPC_AGREE }: IndexerSettings,
    endpoints: RpcEndpoints,
    private readonly telemetry: IndexerTelemetry,
    adapters: ContractAdapters,
  ) {
    this.chain = new AgreedChain(endpoints.all, RPC_AGREE);
    this.hasVaults = () => endpoints.contracts.some((each) => adapters.of(each)?.views?.price !== undefined);
  }

  mayRun(): boolean {
    return this.telemetry.state === 'synced' && this.hasVaults();
  }

  pauseMs(): number {
    return ROUND_MS;
  }

  async round(client: Client): Promise<void> {
    const { rows } = await client.query<Due>(DUE, [MOST_VAULTS]);
    if (rows.length === 0) return;
    await this.chain.begin();
    const at = hex(Number(rows[0].cursorNumber));
    const questions = rows.map(({ vault, view }): Question => {
      const item = readView(view, vault);
      const call: Call = ['eth_call', [{ to: vault, data: encodeCall(item, { amount: PRICED_SHARES }) }, at]];
      return { kind: 'price', id: vault, wanted: 1n, call, outputs: item.outputs };
    });
    const calls = questions.map(({ call }) => call);
    const answers = await this.chain.ask(calls, rows[0]).catch((error: Error) => {
      if (error instanceof OtherBlock) return [];
      throw error;
    });
    const told = questions
      .map((question, i) => ({ vault: question.id, price: amountOf(answers[i], question) }))
      .filter((each): each is Told => typeof each.price === 'bigint');
    if (told.length > 0) await this.save(client, rows[0], told);
  }

  private async save(client: Client, { cursorNumber, cursorHash }: Due, told: Told[]): Promise<void> {
    const vaults = told.map(({ vault }) => vault);
    await transaction(client, async () => {
      await client.query(HOLD_CURSOR);
      await client.query(SAVE, [cursorNumber, cursorHash, vaults, told.map(({ price }) => price)]);
      await client.query(FORGET, [vaults]);
    });
  }
}

/**
 * The vaults whose price at the last block in effect is not known, those first that wait longest. Parameter: limit. Row:
 * vault, the function to ask, number and hash of the block.
 */
const DUE = `
  SELECT k.vault, k.view, b.number AS "cursorNumber", b.hash AS "cursorHash"
  FROM (SELECT DISTINCT address AS vault, price_view AS view FROM chain_contracts WHERE price_view IS NOT NULL) k
  CROSS JOIN chain_cursor c JOIN chain_blocks b ON b.number = c.applied_number
  LEFT JOIN LATERAL (SELECT block_number FROM share_prices WHERE vault = k.vault ORDER BY day DESC LIMIT 1) s ON true
  WHERE s.block_number IS DISTINCT FROM b.number ORDER BY s.block_number NULLS FIRST, k.vault LIMIT $1`;

/** A reorganisation locks the cursor first. */
const HOLD_CURSOR = 'SELECT FROM chain_cursor FOR SHARE';

/** The newest price of a day, if the block is still the ledger's. Parameters: number and hash of the block, vaults, prices. */
const SAVE = `
  INSERT INTO share_prices (vault, day, block_number, block_time, price)
  SELECT w.vault, (b.time AT TIME ZONE 'UTC')::date, b.number, b.time, w.price
  FROM unnest($3::text[], $4::numeric[]) AS w(vault, price) CROSS JOIN chain_blocks b
  WHERE b.number = $1 AND b.hash = $2
  ON CONFLICT ON CONSTRAINT share_prices_pkey DO UPDATE
    SET block_number = excluded.block_number, block_time = excluded.block_time, price = excluded.price`;

/** Parameter: vaults. */
const FORGET = `
  DELETE FROM share_prices p WHERE vault = ANY($1::text[])
    AND day < (SELECT max(day) FROM share_prices n WHERE n.vault = p.vault) - ${MOST_DAYS}`;
