import { fork } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { type Hex, parseEther, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { TYPE_WITH_CIRCLES } from '#values/types';
import { type DevClient, anvilRpc, receiptOf } from '#dev/deploy';
import { poolContracts } from '#dev/further';
import type { Running, Saver } from './saver';
import { say, step, tokens, until } from './steps';

/** The shortest that there is, in seconds. */
const PERIOD = 3600;
/** The chain goes forward in steps, as a jump of its clock would be permanent. */
const STEPS = 4;
const CONTRIBUTION = parseEther('20');
/** Pays for one round that somebody does not pay. */
const COLLATERAL = CONTRIBUTION;

interface Rounds {
  circle: { state: string; currentRound: number | null; roundEnd: string | null; members: Member[] };
  mine: { payout: string; refund: string };
}
interface Member {
  account: string;
  paid: boolean;
  missed: number;
}

/** A savings circle of three, the last of whom misses a payment. What the wallets send the API tells. */
export async function liveCircle(running: Running, chain: DevClient, savers: Saver[]): Promise<void> {
  const [first, second, third] = savers as [Saver, Saver, Saver];
  step('A circle: each locks 20 tokens, and pays 20 in each of three rounds');
  const members = savers.map(({ chain: { account } }) => account.address);
  const body = { type: TYPE_WITH_CIRCLES, initialDeposit: `${CONTRIBUTION}`, members: members.slice(1) };
  const { id } = await first.call<{ id: string }>('POST', '/pools', body);
  const send = async (saver: Saver, name: string, query = ''): Promise<void> => {
    const route = `/pools/${id}/calls/${name}${query}`;
    const { calls } = await saver.call<{ calls: { to: Hex; data: Hex }[] }>('GET', route);
    for (const { to, data } of calls) {
      const { status } = await receiptOf(saver.chain, await saver.chain.sendTransaction({ to, data }));
      if (status !== 'success') throw new Error(`${name} was reverted`);
    }
  };
  const rounds = (saver = first): Promise<Rounds> => saver.call<Rounds>('GET', `/pools/${id}/rounds`);
  const reaches = (what: string, wanted: (now: Rounds['circle']) => boolean): Promise<Rounds> =>
    until(
      what,
      () => rounds(),
      ({ circle }) => circle !== null && wanted(circle),
    );

  const { timestamp } = await chain.getBlock();
  const joinBy = new Date((Number(timestamp) + PERIOD) * 1000).toISOString();
  const terms = { contribution: `${CONTRIBUTION}`, collateral: `${COLLATERAL}`, period: `${PERIOD}`, joinBy };
  await send(first, 'open', `?${new URLSearchParams({ ...terms, members: members.join() }).toString()}`);
  await reaches('the circle', ({ state }) => state === 'JOINING');
  for (const saver of savers) await send(saver, 'join');
  await reaches('its start', ({ state }) => state === 'RUNNING');
  say('all have joined');

  for (const [round, whose] of savers.entries()) {
    const misses = round === 1;
    for (const saver of savers) if (saver !== third || !misses) await send(saver, 'contribute');
    const payers = savers.length - Number(misses);
    const isSeen = ({ members: now }: Rounds['circle']) => now.filter(({ paid }) => paid).length === payers;
    const { circle } = await reaches('the payments', isSeen);
    const isEnded = () => reaches('the end of the round', ({ currentRound }) => currentRound !== round);
    if (misses) {
      await passTo(chain, circle.roundEnd!);
      await byKeeper(running, chain, isEnded);
    } else {
      await send(second, 'endRound');
      await isEnded();
    }
    const by = misses ? 'an hour is over, and the keeper' : second.name;
    say(`round ${round + 1}: ${payers} of 3 have paid; ${by} ends it`);
    const { mine } = await rounds(whose);
    await send(whose, 'payout');
    say(`${whose.name} takes the pot of ${tokens(mine.payout)}`);
  }
  const { circle } = await reaches('its end', ({ state }) => state === 'COMPLETED');
  say(`${third.name} has missed ${circle.members[2].missed}; what is left is taken back:`);
  for (const saver of [first, second]) {
    const { mine } = await rounds(saver);
    await send(saver, 'refund');
    say(`${saver.name} takes back ${tokens(mine.refund)}`);
  }
  const { balance } = await until(
    'an empty pool',
    () => first.call<{ balance: string }>('GET', `/pools/${id}`),
    (pool) => pool.balance === '0',
  );
  say(`the pool holds ${tokens(balance)}`);
}

/** Has the keeper of production do what is due, from an account that has ether and no rights. */
async function byKeeper(
  { rpc, deployment }: Running,
  chain: DevClient,
  isDone: () => Promise<unknown>,
): Promise<void> {
  const key = generatePrivateKey();
  await anvilRpc(chain, 'anvil_setBalance', privateKeyToAccount(key).address, toHex(parseEther('1')));
  const env = {
    PATH: process.env.PATH,
    RPC_URL: rpc,
    POOL_CONTRACTS: poolContracts(deployment),
    KEEPER_KEY: key,
    KEEPER_PORT: '0',
    HOST: '127.0.0.1',
    LOG_LEVEL: 'warn',
  };
  const keeper = fork(path.join(__dirname, '../../keeper.js'), { env, stdio: 'inherit' });
  const ended = once(keeper, 'exit');
  try {
    await isDone();
  } finally {
    keeper.kill();
    await ended;
  }
}

async function passTo(chain: DevClient, time: string): Promise<void> {
  const { timestamp } = await chain.getBlock();
  const missing = Math.ceil(Date.parse(time) / 1000) - Number(timestamp);
  await anvilRpc(chain, 'anvil_setBlockTimestampInterval', Math.max(1, Math.ceil(missing / STEPS)));
  await anvilRpc(chain, 'anvil_mine', toHex(STEPS));
  await anvilRpc(chain, 'anvil_removeBlockTimestampInterval');
}
