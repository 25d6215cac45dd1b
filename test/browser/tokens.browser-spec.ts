import type { Page } from 'playwright-core';
import { type Dapp, serveDapp } from '#dev/dapp';
import { CONTRACTS, TEN, TestApp } from '../support/app';
import { useBrowser } from '../support/browser/browser';
import { press } from '../support/browser/page-bench';
import { addTransaction } from '../support/ledger';
import { type Wallet, newWallet } from '../support/wallet';

const [FIRST, EURO] = ['a', 'b'].map((digit) => `0x${digit.repeat(40)}`);

describe('the example page, where contracts have two tokens', () => {
  const browser = useBrowser();
  const app = new TestApp();
  let dapp: Dapp;

  beforeAll(async () => {
    const least = { MIN_DEPOSITS: `${CONTRACTS.lottery}=1,${CONTRACTS.rotating}=1` };
    await app.start({ NODE_ENV: 'development', RATE_LIMIT_AUTH: '1000', ...least });
    await app.listen();
    dapp = await serveDapp({ api: `http://127.0.0.1:${app.port}` });
    await app.sql(`INSERT INTO chain_facts VALUES (1, 31337, $1, 'DAI', 18)`, [FIRST]);
    for (const [type, contract] of Object.entries(CONTRACTS))
      await app.sql(
        'INSERT INTO chain_tokens VALUES ($1, $2, $3, $4)',
        ['lottery', 'rotating'].includes(type) ? [contract, EURO, 'EURC', 6] : [contract, FIRST, 'DAI', 18],
      );
    await app.sql(
      `INSERT INTO chain_contracts (type, address, position, from_block, circles) VALUES ('rotating', $1, 0, 1, true)`,
      [CONTRACTS.rotating],
    );
  });
  afterAll(async () => {
    await dapp?.stop();
    await app.stop();
  });

  const signedIn = async (account: Wallet): Promise<Page> => {
    const page = await browser.open(dapp.url, { wallet: { account, chainId: 31_337 } });
    await press(page, 'Connect Test wallet');
    return page;
  };

  it('shows each amount in the token of its contract, and adds up those of one token only', async () => {
    const account = newWallet();
    const saver = await app.signIn(account);
    const pools: Record<string, string> = {};
    for (const [type, initialDeposit, amount] of [
      ['individual', TEN, '2000000000000000000'],
      ['lottery', '5000000', '7500000'],
    ]) {
      const { id } = await app.createPool(saver, { type, initialDeposit });
      pools[type] = id as string;
      const paid = { poolId: id as string, account: account.address.toLowerCase(), amount };
      await addTransaction(app, paid);
      await app.sql('INSERT INTO positions VALUES ($1, $2, $3, 0, 0, 0, $3, 0, 0)', [
        id,
        paid.account,
        amount,
      ]);
    }
    const page = await signedIn(account);
    const [own, lottery] = ['individual', 'lottery'].map((type) =>
      page.locator(`[data-pool="${pools[type]}"]`),
    );
    await lottery.waitFor();
    expect(await own.locator('.figure').innerText()).toBe('2 DAI');
    expect(await lottery.locator('.figure').innerText()).toBe('7.5 EURC');
    expect(await lottery.locator('[data-field="held"]').innerText()).toBe('7.5');
    expect(await lottery.getByRole('button', { name: 'Pay' }).innerText()).toBe('Pay 5 EURC');
    const saved = page.locator('.tile', { hasText: 'Saved' });
    expect((await saved.innerText()).split(/\s*\n\s*/)).toEqual(['Saved', '2 DAI', '7.5 EURC']);
    const activity = page.locator('section', { hasText: 'Activity' }).locator('li strong');
    expect((await activity.allInnerTexts()).sort()).toEqual(['10 DAI', '2 DAI', '5 EURC', '7.5 EURC']);
    await page.getByRole('button', { name: 'New pool' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('You pay 25 DAI').waitFor();
    await dialog.getByText('Lottery', { exact: true }).click();
    await dialog.getByText('You pay 25 EURC').waitFor();

    // The pool is not listed yet when its circle is to be opened.
    await dialog.getByText('Rotating', { exact: true }).click();
    await dialog.getByRole('textbox', { name: /address a line/ }).fill(newWallet().address);
    await dialog.getByRole('button', { name: 'Create' }).click();
    const terms = page.getByRole('dialog', { name: 'Open the circle' });
    await terms.getByText('25 EURC').first().waitFor();
    expect(await terms.getByRole('textbox').first().inputValue()).toBe('25');
  });

  it.each([
    ['account', [['Deposit'], []]],
    ['contract', [['Deposit'], ['Deposit']]],
  ])('offers a deposit to whom the contract lets pay in, where pools are by %s', async (poolsBy, offered) => {
    await app.sql(
      `INSERT INTO chain_contracts (type, address, position, from_block, pools_by, calls)
       VALUES ('individual', $1, 0, 1, $2, '{"deposit": "", "withdraw": ""}')
       ON CONFLICT (type, address) DO UPDATE SET pools_by = excluded.pools_by`,
      [CONTRACTS.individual, poolsBy],
    );
    const [owner, member] = [newWallet(), newWallet()];
    const { id } = await app.createPool(await app.signIn(owner), { members: [member.address] });
    await app.sql(`UPDATE transactions SET status = 'EXPIRED' WHERE pool_id = $1`, [id]);
    const shown: string[][] = [];
    for (const account of [owner, member]) {
      const page = await signedIn(account);
      const card = page.locator(`[data-pool="${id as string}"]`);
      await card.waitFor();
      const buttons = await card.locator('.actions button').allInnerTexts();
      shown.push(buttons.filter((text) => text !== 'Cancel the pool'));
    }
    expect(shown).toEqual(offered);
  });
});
