import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { type Abi, type Address, maxUint256, toEventSelector } from 'viem';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { type ContractName, type DevClient, artifacts, connect, deploy, devAccount } from '#dev/deploy';
import { bytes16 } from '#values/bytes16';
import { examine, readCommand } from '../../../src/indexer';
import { call } from '../../support/chain/foreign-pools';

/** The command `adapter`, on contracts that each names its pools in another way. */
describe('what an adapter makes of a contract', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'adapter-'));
  let anvil: AnvilNode;
  let [owner, saver]: DevClient[] = [];
  let token: Address;

  beforeAll(async () => {
    anvil = await startAnvil();
    [owner, saver] = [await connect(anvil.url, devAccount(0)), await connect(anvil.url, devAccount(1))];
    token = (await deploy(owner, artifacts.TestToken, [])).address;
    for (const client of [owner, saver])
      await call(
        client,
        { ...artifacts.TestToken, address: token },
        'mint',
        client.account.address,
        10n ** 21n,
      );
  });
  afterAll(async () => {
    await anvil.stop();
    rmSync(folder, { recursive: true });
  });

  async function deployed(name: ContractName, args: unknown[] = []) {
    const { address } = await deploy(owner, artifacts[name], [token, ...args]);
    const send = (client: DevClient, method: string, ...given: unknown[]) =>
      call(client, { ...artifacts[name], address }, method, ...given);
    for (const client of [owner, saver])
      await call(client, { ...artifacts.TestToken, address: token }, 'approve', address, maxUint256);
    return { address, send, abi: artifacts[name].abi };
  }
  async function report(address: Address, abi: Abi, ...options: string[]) {
    const file = path.join(folder, 'abi.json');
    // As compilers write it.
    writeFileSync(file, JSON.stringify({ abi }));
    const command = readCommand(['adapter', '--abi', file, '--address', address, ...options]);
    return examine({ NODE_ENV: 'test', RPC_URL: anvil.url }, command as never);
  }

  it('lists events and token, and compares sums with views, of pools with numbers', async () => {
    const { address, send, abi } = await deployed('Clubs');
    await send(owner, 'createPool', 'first');
    await send(saver, 'pay', 1n, 70n);
    await send(owner, 'pay', 1n, 5n);
    await send(saver, 'takeOut', 1n, 8n);
    const { lines, fits } = await report(address, abi, '--as', 'cooperative:clubs');
    const unread = 'MemberJoined(uint256,address)';
    expect(lines).toEqual(
      expect.arrayContaining([
        expect.stringMatching(`^${address.toLowerCase()} up to block \\d+, read by Clubs$`),
        `token: ${token.toLowerCase()} TEST, 18 decimals`,
        'event Paid(uint256,address,uint256): 2 logs, read by Clubs.paid',
        `event ${unread}: 2 logs, not read, topic ${toEventSelector(unread)}`,
        'sums of 3 logs: 2 views asked, 0 differ',
      ]),
    );
    expect(fits).toBe(true);
  });

  it('says where sums differ, here as earlier logs are left out', async () => {
    const { address, send, abi } = await deployed('Kitty');
    await send(saver, 'putIn', 70n);
    const first = await owner.getBlockNumber();
    await send(saver, 'takeOut', 8n);
    const options = ['--as', 'cooperative:kitty'];
    expect((await report(address, abi, ...options)).lines).toContain(
      'sums of 2 logs: 2 views asked, 0 differ',
    );
    const { lines, fits } = await report(address, abi, ...options, '--from', `${first + 1n}`);
    const account = saver.account.address.toLowerCase();
    expect(lines).toEqual(
      expect.arrayContaining([
        'sums of 1 logs: 2 views asked, 2 differ',
        `WRONG: chain.balance ${address.toLowerCase()} ${account}: the logs say -8, the contract 62`,
      ]),
    );
    expect(fits).toBe(false);
  });

  it('compares shares of vaults, and balances of the reference contracts', async () => {
    const vault = await deployed('TestVault');
    await vault.send(saver, 'deposit', 90n, saver.account.address);
    await vault.send(saver, 'transfer', owner.account.address, 4n);
    await vault.send(saver, 'redeem', 6n, saver.account.address, saver.account.address);
    expect(await report(vault.address, vault.abi, '--as', 'individual:erc4626')).toMatchObject({
      lines: expect.arrayContaining(['sums of 3 logs: 2 views asked, 0 differ']),
      fits: true,
    });
    const pool = await deployed('SavingsPool', [owner.account.address, 1n]);
    const [id, none] = ['019b7a3c-0000-7000-8000-000000000001', '00'.repeat(16)].map(bytes16);
    await pool.send(saver, 'deposit', id, none, 30n);
    expect(await report(pool.address, pool.abi, '--as', 'individual')).toMatchObject({
      lines: expect.arrayContaining(['sums of 1 logs: 2 views asked, 0 differ']),
      fits: true,
    });
  });

  it('names what of the ABI and of the adapter does not fit', async () => {
    const { address, send, abi } = await deployed('AccountSavings');
    await send(saver, 'save', 70n);
    const without = await report(address, abi);
    const topic = toEventSelector('Saved(address,uint256)');
    expect(without.lines).toContain(`event Saved(address,uint256): 1 logs, not read, topic ${topic}`);
    expect(without.fits).toBe(true);
    const changed = abi.flatMap((item) => {
      if (item.type === 'event' && item.name === 'Saved')
        return { ...item, inputs: item.inputs.map((input) => ({ ...input, indexed: false })) };
      // Its name stays.
      if (item.type === 'event' && item.name === 'Unsaved') return { ...item, inputs: item.inputs.slice(1) };
      const isGone = 'name' in item && ['RewardPaid', 'savings', 'takeReward'].includes(item.name);
      return isGone ? [] : item;
    });
    const { lines, fits } = await report(address, changed, '--as', 'individual:accounts');
    expect(lines).toContain(
      'event RewardPaid(address,uint256,uint256): 0 logs, read by AccountSavings.rewardPaid, and not in the ABI',
    );
    expect(lines.filter((line) => line.includes('WRONG'))).toEqual([
      'event Saved(address,uint256): 1 logs, WRONG: other parameters are indexed for AccountSavings.saved',
      'event Unsaved(address,uint256): 0 logs, WRONG: read by AccountSavings.unsaved, and not in the ABI',
      'WRONG: balance: savings(address account) is not in the ABI',
      'WRONG: total: savings(address pool) is not in the ABI',
      'WRONG: claim: takeReward() is not in the ABI',
    ]);
    expect(fits).toBe(false);
    // Another contract's events of the same signature.
    const other = await deployed('Kitty');
    await other.send(saver, 'putIn', 3n);
    const { lines: strange } = await report(other.address, abi, '--as', 'individual:accounts');
    expect(strange).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^event 0x[0-9a-f]{64}: 1 logs, not in the ABI, not read$/),
      ]),
    );
    const nobody = `0x${'ab'.repeat(20)}` as const;
    expect(await report(nobody, abi)).toEqual({
      lines: [`WRONG: there is no contract at ${nobody}`],
      fits: false,
    });
    await expect(report(address, abi, '--as', 'individual:nothing')).rejects.toThrow('no such adapter');
  });
});
