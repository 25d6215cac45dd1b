import {
  type Address,
  type Hex,
  encodeDeployData,
  encodeFunctionData,
  getAddress,
  getCreate2Address,
  hashMessage,
  keccak256,
  serializeErc6492Signature,
} from 'viem';
import { type AnvilNode, startAnvil } from '#dev/anvil';
import { type DevClient, connect, deploy, devAccount, receiptOf } from '#dev/deploy';
import { compile } from '../../scripts/compile-contracts';
import { TestApp } from '../support/app';
import { type Wallet, newWallet, siweMessage } from '../support/wallet';

const { ApprovingWallet, SmartWallet, SmartWalletFactory } = compile([
  'test/support/solidity/SmartWallet.sol',
]);
const FAILED = { success: false, error: 'Authentication failed', code: 'authentication_failed' };

let anvil: AnvilNode;
let client: DevClient;
let factory: Address;
const app = new TestApp();

beforeAll(async () => {
  anvil = await startAnvil();
  client = await connect(anvil.url, devAccount(0));
  factory = getAddress((await deploy(client, SmartWalletFactory)).address);
  await app.start({ RPC_URL: anvil.url });
});
afterAll(async () => {
  await app.stop();
  await anvil.stop();
});

const deployed = async (owner: Wallet): Promise<Address> =>
  getAddress((await deploy(client, SmartWallet, [owner.address])).address);

/** Where the factory will create the wallet, and the call that creates it. */
function counterfactual(owner: Wallet): { address: Address; data: Hex } {
  const initCode = encodeDeployData({ ...SmartWallet, args: [owner.address] });
  return {
    address: getCreate2Address({
      from: factory,
      salt: `0x${'00'.repeat(32)}`,
      bytecodeHash: keccak256(initCode),
    }),
    data: encodeFunctionData({ abi: SmartWalletFactory.abi, functionName: 'deploy', args: [owner.address] }),
  };
}

/** Signs in as `address` with a signature of `signer`, as `change` leaves it. */
async function attempt(address: Address, signer: Wallet, change = (signature: Hex): Hex => signature) {
  const message = siweMessage({ address, nonce: await app.nonce(address) });
  const signature = change(await signer.signMessage({ message }));
  return app.post('/auth/verify', { message, signature });
}

it('EIP-1271: a deployed wallet signs in with the signature of its owner only', async () => {
  const owner = newWallet();
  const wallet = await deployed(owner);
  const answer = await attempt(wallet, owner);
  expect(answer.status).toBe(200);
  expect(answer.body.user.address).toBe(wallet.toLowerCase());
  const refused = await attempt(wallet, newWallet());
  expect([refused.status, refused.body]).toEqual([401, FAILED]);
});

it('EIP-1271: a contract without signature checks signs nobody in', async () => {
  expect((await attempt(factory, newWallet())).status).toBe(401);
});

it('EIP-1271: a wallet whose owners approved the message on the chain signs in with an empty signature', async () => {
  const { address } = await deploy(client, ApprovingWallet);
  const message = siweMessage({ address: getAddress(address), nonce: await app.nonce(address) });
  const signIn = () => app.post('/auth/verify', { message, signature: '0x' });
  expect((await signIn()).status).toBe(401);
  const { abi } = ApprovingWallet;
  const args = [hashMessage(message)];
  await receiptOf(client, await client.writeContract({ abi, address, functionName: 'approve', args }));
  expect((await signIn()).body.user.address).toBe(address.toLowerCase());
});

it('ERC-6492: a wallet that is not deployed yet signs in', async () => {
  const owner = newWallet();
  const { address, data } = counterfactual(owner);
  const wrapped = (signature: Hex): Hex => serializeErc6492Signature({ address: factory, data, signature });
  const answer = await attempt(address, owner, wrapped);
  expect(answer.status).toBe(200);
  expect(answer.body.user.address).toBe(address.toLowerCase());
  expect(await client.getCode({ address })).toBeUndefined();

  expect((await attempt(address, newWallet(), wrapped)).status).toBe(401);
  expect((await attempt(address, owner)).status).toBe(401);
  expect((await attempt(counterfactual(newWallet()).address, owner, wrapped)).status).toBe(401);
});
