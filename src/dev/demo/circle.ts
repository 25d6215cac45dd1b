import { parseEther, toHex } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { TYPE_WITH_CIRCLES } from '#values/types';
import { type DevClient, anvilRpc } from '#dev/deploy';
import { type Running, type Saver, say, sendCalls, startProcess, step, tokens } from './saver';

/** The shortest that there is, in seconds. */
const PERIOD = 3600;
/** The chain goes forward in steps, as a jump of its clock would be permanent. */
const STEPS = 4;
const CONTRIBUTION = parseEther('20');
/** Pays for one round that somebody does not pay. */
const COLLATERAL = CONTRIBUTION;

interface Circle {
  state: string;
  currentRound: number | null;
  roundEnd: string | null;
  members: { paid: boolean; missed: number }[];
}
interface Rounds {
  circle: Circle | null;
  mine: { payout: string; refund: string };
}

/** A savings circle of three, the last of whom misses a payment. What the wallets send the API tells. */
export async function liveCircle(running: Running, chain: DevClient, savers: Saver[]): Promise<void> {
  const [first, second, third] = savers as [Saver, Saver, Saver];
  step('A circle: each locks 20 tokens, and pays 20 in each of three rounds');
  const members = savers.map(({ chain: { account } }) => account.address);
  const body = { type: TYPE_WITH_CIRCLES, initialDeposit: `${CONTRIBUTION}`, members: members.slice(1) };
  const { id } = await first.call<{ id: string }>('POST', '/pools', body);
  const send = (saver: Saver, name: string, query = ''): Promise<void> =>
    sendCalls(saver, `/pools/${id}/calls/${name}${query}`);
  const mine = async (saver: Saver): Promise<Rounds['mine']> =>
    (await saver.call<Rounds>('GET', `/pools/${id}/rounds`)).mine;
  const reaches = async (wanted: (now: Circle) => boolean): Promise<Circle> =>
    (await first.sees<Rounds>(`/pools/${id}/rounds`, ({ circle }) => !!circle && wanted(circle))).circle!;

  const { timestamp } = await chain.getBlock();
  const joinBy = new Date((Number(timestamp) + PERIOD) * 1000).toISOString();
  const terms = { contribution: `${CONTRIBUTION}`, collateral: `${COLLATERAL}`, period: `${PERIOD}`, joinBy };
  await send(first, 'open', `?${new URLSearchParams({ ...terms, members: members.join() }).toString()}`);
  await reaches(({ state }) => state === 'JOINING');
  for (const saver of savers) await send(saver, 'join');
  await reaches(({ state }) => state === 'RUNNING');
  say('all have joined');

  for (const [round, whose] of savers.entries()) {
    const misses = round === 1;
    for (const saver of savers) if (saver !== third || !misses) await send(saver, 'contribute');
    const payers = savers.length - Number(misses);
    const { roundEnd } = await reaches((now) => now.members.filter(({ paid }) => paid).length === payers);
    const isEnded = () => reaches(({ currentRound }) => currentRound !== round);
    if (misses) {
      await passTo(chain, roundEnd!);
      await byKeeper(running, chain, isEnded);
    } else {
      await send(second, 'endRound');
      await isEnded();
    }
    const by = misses ? 'an hour is over, and the keeper' : second.name;
    say(`round ${round + 1}: ${payers} of 3 have paid; ${by} ends it`);
    const { payout } = await mine(whose);
    await send(whose, 'payout');
    say(`${whose.name} takes the pot of ${tokens(payout)}`);
  }
  const end = await reaches(({ state }) => state === 'COMPLETED');
  say(`${third.name} has missed ${end.members[2].missed}; what is left is taken back:`);
  for (const saver of [first, second]) {
    const { refund } = await mine(saver);
    await send(saver, 'refund');
    say(`${saver.name} takes back ${tokens(refund)}`);
  }
  const { balance } = await first.sees<{ balance: string }>(`/pools/${id}`, (pool) => pool.balance === '0');
  say(`the pool holds ${tokens(balance)}`);
}

/** Has the keeper of production do what is due, from an account that has ether and no rights. */
async function byKeeper(running: Running, chain: DevClient, isDone: () => Promise<unknown>): Promise<void> {
  const key = generatePrivateKey();
  await anvilRpc(chain, 'anvil_setBalance', privateKeyToAccount(key).address, toHex(parseEther('1')));
  const settings = { KEEPER_KEY: key, KEEPER_PORT: '0', HOST: '127.0.0.1', LOG_LEVEL: 'warn' };
  const { child, ended } = startProcess(running, 'keeper.js', settings);
  try {
    await isDone();
  } finally {
    child.kill();
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
