import { bytes16 } from '#values/bytes16';
import { SEED, generator } from '../support/random';
import { NO_REF, PositionBench } from '../support/chain/position-bench';

const RUNS = Number(process.env.RUNS ?? 3);
const ROUNDS = 25;
const ACTIONS = 8;
const DAY = 86_400;

type Random = ReturnType<typeof generator>;
const one = <T>(random: Random, of: T[]): T => of[random(of.length)];
/** From single units to thousands of tokens, so that rounding shows. */
const some = (random: Random): bigint => BigInt(Math.floor(10 ** (random(2200) / 100)));

/** What a saver, the owner or the clock does; most of it takes effect, and the rest is refused by the contract. */
async function act(bench: PositionBench, random: Random): Promise<unknown> {
  const [owner] = bench.accounts;
  const pool = one(random, bench.pools);
  const id = bytes16(pool.id);
  // The same pool id at a contract that the pool is not of.
  const contract = random(12) ? pool.contract : one(random, bench.contracts);
  const account = one(random, bench.accounts);
  const send = (from: string, name: string, ...args: unknown[]): Promise<unknown> =>
    bench.send(from as never, contract, name, args);
  switch (random(15)) {
    case 0:
    case 1:
    case 2:
      return send(account, 'deposit', id, NO_REF, some(random));
    case 3: {
      const chosen = Array.from({ length: 3 }, () => one(random, bench.pools)).filter(
        (each) => each.contract === contract,
      );
      const ids = [...new Set(chosen.map((each) => bytes16(each.id)))].sort();
      const amounts = ids.map(() => some(random));
      return send(
        account,
        'depositMany',
        ids,
        ids.map(() => NO_REF),
        amounts,
      );
    }
    case 4:
    case 5: {
      const held = await bench.view(contract, 'balanceOf', [id, account], 'latest');
      return send(account, 'withdraw', id, NO_REF, random(3) ? (held * BigInt(random(1000))) / 1000n : held);
    }
    case 6:
      return send(account, 'claimYield', id, NO_REF);
    case 7:
    case 8:
    case 9:
      return send(owner, 'accrueYield', id, some(random), random(900));
    case 10: {
      const draws = bench.contracts[2];
      const draw = await bench.view(draws, 'currentDraw', [], 'latest');
      return random(2)
        ? bench.send(owner, draws, 'openDraw', [1n, (await bench.time()) + 365n * BigInt(DAY)])
        : bench.send(account, draws, 'buyTickets', [draw, 1n + BigInt(random(9))]);
    }
    case 11:
      return send(account, random(3) ? 'startCompounding' : 'stopCompounding', id);
    case 12:
    case 13: {
      const accounts = bench.accounts.filter(() => random(2) === 0);
      return send(
        one(random, bench.accounts),
        'compound',
        accounts.map(() => id),
        accounts,
      );
    }
    default:
      return bench.rpc('evm_increaseTime', 1 + random(random(2) ? 60 : 40 * DAY));
  }
}

describe('positions are what the contracts answer, to the unit', () => {
  let bench: PositionBench | undefined;
  afterEach(() => bench?.stop());

  it.each(Array.from({ length: RUNS }, (_, i) => (SEED + i) >>> 0))(
    'however the chain moves and is read (SEED=%i)',
    async (seed) => {
      const random = generator(seed);
      const confirmations = (seed % 2) * 3;
      const t = (bench = await new PositionBench(confirmations).start());
      const known = [0, 0, 1, 2].map((contract) => t.newPool(t.contracts[contract]));
      const late = t.newPool(t.contracts[random(3)]);
      for (const pool of known) await t.addPool(pool);

      const check = async (): Promise<void> => {
        const found = await t.positions(known);
        const said = await t.contractsSay(known);
        for (const [key, answer] of Object.entries(said)) {
          const {
            balance = '0',
            claimable = '0',
            // Nobody is told of accounts that never paid in.
            compounding = answer.compounding,
          } = found[key] ?? {};
          expect({ key, balance, claimable, compounding }).toEqual({ key, ...answer });
        }
      };

      for (let round = 0; round < ROUNDS; round += 1) {
        const work = async (): Promise<void> => {
          for (let i = 0; i < ACTIONS; i += 1) await act(t, random);
        };
        await (random(3) ? work() : t.inOneBlock(work));
        if (round === ROUNDS >> 1) {
          await t.addPool(late);
          known.push(late);
        }
        const head = await t.head();
        while (t.cursor.number < head && random(8))
          await t.apply(Math.min(head, t.cursor.number + 1 + random(8)), random(2) === 0);
        if (round % 3 === 2) {
          await t.apply(head, true);
          // Earlier events of a pool that came late are looked for when there is nothing else to apply.
          await t.apply(head, true);
          await check();
        }
        if (random(3) === 0) {
          const depth = 1 + random(Math.min(12, head - 30));
          await t.rpc('anvil_reorg', depth, []);
          if (t.cursor.number > head - depth) await t.rewind(head - depth);
        }
        if (random(6) === 0) {
          await t.rewind(Math.max(0, t.cursor.number - random(40)));
          if (t.cursor.number > confirmations && !known.includes(late)) await check();
        }
      }
      for (const { id, contract } of known)
        await t.send(t.accounts[1], contract, 'deposit', [bytes16(id), NO_REF, 1_000_000n]);
      // What was held until here takes no part in the next accrual, however much it was.
      for (const { id, contract } of known)
        await t.send(t.accounts[0], contract, 'accrueYield', [bytes16(id), 1n, 1]);
      await t.rpc('evm_increaseTime', DAY);
      // As much as the pool holds, so that even a small part of it is more than nothing.
      for (const { id, contract } of known) {
        const total = await t.view(contract, 'totalOf', [bytes16(id)], 'latest');
        await t.send(t.accounts[0], contract, 'accrueYield', [bytes16(id), total, 1]);
      }
      await t.rpc('anvil_mine', `0x${confirmations.toString(16)}`);
      const head = await t.head();
      await t.apply(head, true);
      await t.apply(head, true);
      await check();

      const sums = await t.moved(known);
      const found = await t.positions(known);
      expect(Object.keys(found).sort()).toEqual(Object.keys(sums).sort());
      for (const [key, { deposited, withdrawn, claimed, ...rest }] of Object.entries(found)) {
        expect({ key, deposited, withdrawn, claimed }).toEqual({ key, ...sums[key] });
        expect(BigInt(rest.balance)).toBe(BigInt(deposited) - BigInt(withdrawn));
        expect(BigInt(rest.earned)).toBe(BigInt(claimed) + BigInt(rest.claimable));
        expect(rest.blockNumber).toBe(head - confirmations);
      }
      for (const { id } of known) expect(found[`${id} ${t.accounts[1]}`].earned).not.toBe('0');
    },
  );
});
