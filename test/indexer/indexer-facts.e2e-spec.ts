import { toFunctionSelector } from 'viem';
import { Indexer } from '#indexer/leading/indexer.service';
import { IndexerTelemetry } from '#indexer/reporting/telemetry';
import { artifacts, deploy } from '#dev/deploy';
import { until } from '../support/app';
import { useChain } from '../support/chain/chain-bench';

const TOKEN = toFunctionSelector('function token()');

/** What the indexer reads from the chain for others: the chain id and the one token of all contracts. */
describe('facts of the chain', () => {
  const bench = useChain();
  /** Until the database stands at the head. */
  async function follow(): Promise<void> {
    await bench.follow();
    await bench.converged();
    await bench.leave();
  }
  const facts = async (): Promise<any> => {
    const [row] = await bench.sql(
      `SELECT chain_id::int AS id, token_address AS token, token_symbol AS symbol, token_decimals AS decimals FROM chain_facts`,
    );
    return row;
  };
  const test = () => ({
    id: 31337,
    token: bench.deployment.token.toLowerCase(),
    symbol: 'TEST',
    decimals: 18,
  });
  const refuseToken = (): void => {
    bench.proxy.faults = {
      refuse: (method, [call]) => method === 'eth_call' && (call as { data: string }).data === TOKEN,
    };
  };
  afterEach(async () => {
    await bench.leave();
    bench.proxy.faults = {};
    bench.further.length = 0;
  });

  it('a node that does not tell of the token holds nothing up, and is asked again, however busy it is', async () => {
    refuseToken();
    await bench.follow();
    await bench.deposit(bench.pools[0], 5n);
    await bench.converged();
    expect(await facts()).toEqual({ id: 31337, token: null, symbol: null, decimals: null });
    bench.proxy.faults = {};
    await bench.whileBusy(until(async () => (await facts()).token !== null));
    expect(await facts()).toEqual(test());
  });

  it('stay when the node no longer tells of the token, or does not answer; the indexer goes on when it does', async () => {
    refuseToken();
    await bench.follow();
    await bench.deposit(bench.pools[0], 6n);
    await bench.converged();
    expect(await facts()).toEqual(test());
    bench.proxy.faults = { http: () => 'drop' };
    await until(async () => (await bench.cursor())?.state === 'disconnected');
    bench.proxy.faults = {};
    await bench.deposit(bench.pools[0], 7n);
    await bench.converged();
    expect(await facts()).toEqual(test());
  });

  it('a contract that is not there is a state until it is', async () => {
    const address = `0x${'9'.repeat(40)}` as const;
    bench.further.push(['individual', address]);
    const telemetry = (await bench.follow()).get(IndexerTelemetry);
    const standing = () => telemetry.apart.find((each) => each.address === address);
    const missing = { address, state: 'missing', reason: 'there is no contract at this address' };
    await until(() => standing() !== undefined);
    expect(standing()).toEqual(missing);
    await bench.deposit(bench.pools[0], 6n);
    await bench.converged();
    const state = `indexer_contract_state{contract="${address}",state="missing"}`;
    expect(await telemetry.metrics()).toContain(`${state} 1\n`);
    await bench.rpc('anvil_setCode', address, '0x60006000fd');
    await until(() => standing()?.state !== 'missing');
    expect(await telemetry.metrics()).toContain(`${state} 0\n`);
    await bench.rpc('anvil_setCode', address, '0x');
  });

  it('contracts may have several tokens: each is told, and sums are in the first, which stays the first', async () => {
    await follow();
    const { address: token } = await deploy(bench.owner, artifacts.TestToken);
    const args = [token, bench.owner.account.address, 1n];
    const { address } = await deploy(bench.owner, artifacts.SavingsPool, args);
    const tokens = () =>
      bench.sql('SELECT contract, token, symbol, decimals FROM chain_tokens ORDER BY contract');
    const former = await tokens();
    expect(new Set(former.map((row) => row.token))).toEqual(new Set([test().token]));
    bench.further.push(['rotating', address]);
    await follow();
    const another = {
      contract: address.toLowerCase(),
      token: token.toLowerCase(),
      symbol: 'TEST',
      decimals: 18,
    };
    expect(await tokens()).toEqual(
      [...former, another].sort((a, b) => (String(a.contract) < String(b.contract) ? -1 : 1)),
    );
    expect(await facts()).toEqual(test());
    // Also where another contract comes first.
    await bench.sql('UPDATE chain_facts SET token_address = $1', [another.token]);
    await follow();
    expect(await facts()).toEqual({ ...test(), token: another.token });
    await bench.sql('UPDATE chain_facts SET token_address = $1', [test().token]);
    // A contract that is not followed any more had its token all the same.
    bench.further.length = 0;
    await follow();
    expect(await tokens()).toContainEqual(another);
  });

  /** At the head, health and database say of this contract alone that it is quarantined, and why. */
  async function isSetApart(telemetry: IndexerTelemetry, address: string, reason: string): Promise<void> {
    await bench.atHead();
    await until(() => telemetry.apart.some((each) => each.address === address && each.reason === reason));
    const quarantined = await bench.sql('SELECT address, state, reason FROM chain_contracts_apart');
    expect(quarantined).toEqual([{ address, state: 'quarantined', reason }]);
  }

  it('a contract without a token is quarantined until it has one, and the others go on', async () => {
    // It has code, and no token().
    const { address } = await deploy(bench.owner, artifacts.TestToken);
    bench.further.push(['individual', address]);
    const telemetry = (await bench.follow()).get(IndexerTelemetry);
    await bench.deposit(bench.pools[0], 8n);
    await isSetApart(telemetry, address.toLowerCase(), 'it names no token by token() or asset()');
    expect(await bench.sql('SELECT FROM transactions WHERE amount = 8')).toHaveLength(1);
    expect(await facts()).toEqual(test());
    const code = await bench.rpc('eth_getCode', bench.deployment.contracts.individual, 'latest');
    await bench.rpc('anvil_setCode', address, code);
    await bench.deposit(bench.pools[0], 9n);
    await bench.converged();
    expect(await bench.sql('SELECT FROM chain_contracts_apart')).toEqual([]);
  });

  it('a contract of the ledger whose token is another now is quarantined, and its amounts stay what they are', async () => {
    await follow();
    const former = `0x${'3'.repeat(40)}`;
    const [{ contract, first }] = await bench.sql<{ contract: string; first: number }>(
      'SELECT contract, min(block_number)::int AS first FROM chain_events GROUP BY contract LIMIT 1',
    );
    const before = await bench.state();
    await bench.sql('UPDATE chain_tokens SET token = $1 WHERE contract = $2', [former, contract]);
    await bench.sql('UPDATE chain_facts SET token_address = $1', [former]);
    const telemetry = (await bench.follow()).get(IndexerTelemetry);
    const remedy = `rewind --contract ${contract} --to ${first - 1}`;
    const reason = `its amounts are of the token ${former}, and its token is ${test().token} now: ${remedy}`;
    await isSetApart(telemetry, contract, reason);
    await bench.leave();
    expect(await bench.state()).toEqual(before);
    const [{ token }] = await bench.sql('SELECT token FROM chain_tokens WHERE contract = $1', [contract]);
    expect([token, (await facts()).token]).toEqual([former, former]);
    await bench.sql('UPDATE chain_facts SET token_address = $1', [test().token]);
    await bench.sql('UPDATE chain_tokens SET token = $1 WHERE contract = $2', [test().token, contract]);
    // A quarantined contract has to show a further block.
    await bench.deposit(bench.pools[0], 10n);
    await follow();
  });

  it('another token than that of the ledger is refused, also when it is read only later, unless the ledger is empty', async () => {
    const former = `0x${'5'.repeat(40)}`;
    await bench.sql('UPDATE chain_facts SET token_address = $1', [former]);
    const [{ first }] = await bench.sql<{ first: number }>(
      'SELECT min(block_number)::int AS first FROM chain_events',
    );
    refuseToken();
    const { ended } = (await bench.follow()).get(Indexer);
    await bench.atHead();
    bench.proxy.faults = {};
    const refusal = `amounts of the token ${former}, but .* now have ${test().token}.*rewind --to ${first - 1}$`;
    await expect(ended).rejects.toThrow(new RegExp(refusal, 'i'));
    await bench.leave();
    await bench.startAfresh();
    await bench.sql(`INSERT INTO chain_facts VALUES (1, 31337, $1, 'OLD', 6)`, [former]);
    await follow();
    expect(await facts()).toEqual(test());
  });
});
