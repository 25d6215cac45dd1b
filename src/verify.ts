import { rpcEndpoints } from './chain/endpoints';
import { loadEnvironment } from './config/environment';
import { Rpc } from './indexer/rpc';
import { firstThatAnswers } from './verify/ask';
import { USAGE, readOptions, verify } from './verify/command';

/** Compares what is derived with the ledger, and the ledger with the chain, beside the running service; see README. */
async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (!options) throw new Error(USAGE);
  const { DATABASE_URL, RPC_URL, POOL_CONTRACTS } = loadEnvironment(process.env, 'indexer');
  const contracts = [...new Set([...POOL_CONTRACTS.values()].flat())];
  const endpoints = rpcEndpoints(RPC_URL!).map(({ url }) => new Rpc(url));
  const ask = firstThatAnswers(endpoints.map((rpc) => (calls) => rpc.settled(calls)));
  return verify(options, DATABASE_URL, contracts, ask);
}

main().then(
  (code) => process.exit(code),
  (error: Error) => {
    process.stderr.write(`${error.message}\n`);
    process.exit(2);
  },
);
