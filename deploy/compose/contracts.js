// Deploys the reference contracts on a chain that has none. On a new chain the addresses are always the same:
// they follow from the deploying account and its number of transactions.
const { connect, deployContracts, seedDraws } = require('./dist/src/dev/deploy');
const { redactText } = require('./dist/src/platform/log/redact');

const { RPC_URL } = process.env;

async function main() {
  const client = await connect(RPC_URL);
  if ((await client.getTransactionCount({ address: client.account.address })) > 0) return;
  const deployment = await deployContracts(RPC_URL);
  await seedDraws(RPC_URL, deployment);
  console.log(JSON.stringify(deployment));
}

main().catch((error) => {
  console.error(redactText(error.message));
  process.exit(1);
});
