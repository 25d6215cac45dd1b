import 'reflect-metadata';
import { BenchDatabase, callers, dropTriggers } from './database';
import { drive } from './drive';
import { endpoints } from './endpoints';
import { measure, summary, type Measured } from './measure';
import { PEERS, startPeer, type Peer } from './peers';
import { signIns, SIGN_IN } from './sign-in';

const [only, rounds, ...scripts] = process.argv.slice(2);
async function main() {
  const database = await BenchDatabase.start();
  try {
    const filled = await database.filled({ pools: 100_000, transactions: 200_000 });
    const databaseUrl = await database.copy(filled, 'bench_data');
    const plainUrl = await database.copy(filled, 'bench_plain');
    await dropTriggers(plainUrl);
    const [readers, writers] = [await callers(databaseUrl, 32), await callers(databaseUrl, 64, 32)];
    const peers: [string, Peer][] = [];
    for (const script of scripts) {
      if (script === 'pg' || script === 'postgres') peers.push([script, await startPeer(script, { databaseUrl, plainUrl })]);
      else { const [js, ...flags] = script.split(' '); PEERS.service.script = js; peers.push([script, await startPeer('service', { databaseUrl, plainUrl, flags })]); }
    }
    const all = endpoints(readers, writers).filter(({ name }) => only.split(',').some((o) => name === o || name.includes(o)));
    const chosen: any[] = [...all]; if (only.includes('sign')) chosen.push(undefined);
    for (const endpoint of chosen) {
      for (const [, peer] of peers) endpoint ? await drive(peer.url, endpoint.load, { amount: 3000 }) : await signIns(peer, 10);
      const got: Measured[][] = peers.map(() => []);
      for (let r = 0; r < Number(rounds); r++) {
        const order = peers.map((_, i) => i); if (r % 2) order.reverse();
        for (const i of order) {
          const peer = peers[i][1];
          if (endpoint) await drive(peer.url, endpoint.load, { seconds: 0.3 });
          got[i].push(await measure(database, peer, () => endpoint ? drive(peer.url, endpoint.load, { seconds: 1.5 }) : signIns(peer, 10)));
        }
      }
      console.log(endpoint?.name ?? SIGN_IN);
      const first = summary(got[0]).rate;
      peers.forEach(([name], i) => { const s = summary(got[i]); console.log(`  ${s.rate.toFixed(0).padStart(6)} x${(s.rate / first).toFixed(3)} api ${s.processUs} pg ${s.postgresUs} client ${s.clientUs} p99 ${s.p99} stall ${s.stallMs} others ${s.others}  ${name}`); });
    }
    for (const [, peer] of peers) await peer.stop();
  } finally { await database.stop(); }
}
main().then(() => process.exit(0), (e) => { console.error(e); process.exit(1); });
