import {
  type Account,
  type Address,
  type Client,
  type Hex,
  type TypedDataDomain,
  decodeFunctionData,
  domainSeparator,
  encodeFunctionData,
  isAddressEqual,
  keccak256,
  parseAbi,
  parseSignature,
  recoverTypedDataAddress,
  stringToHex,
  zeroHash,
} from 'viem';
import { getBlock, getCode, getEip712Domain, readContract } from 'viem/actions';
import type { ContractCall } from '../types.js';
import type { Spending } from './allowance.js';
import { addressOf } from './chain-access.js';
import type { Run } from './run.js';
import { lacksMethod, wrapped } from './wallet-errors.js';

const TOKEN = parseAbi([
  'function nonces(address owner) view returns (uint256)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function PERMIT_TYPEHASH() view returns (bytes32)',
  'function name() view returns (string)',
  'function version() view returns (string)',
]);
const PAYING = parseAbi([
  'function deposit(bytes16 poolId, bytes16 ref, uint256 amount)',
  'function buyTickets(uint64 drawId, uint256 count)',
]);
const PERMITTED = parseAbi([
  'function depositWithPermit(bytes16 poolId, bytes16 ref, uint256 amount, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
  'function buyTicketsWithPermit(uint64 drawId, uint256 count, uint256 deadline, uint8 v, bytes32 r, bytes32 s)',
]);
const TYPES = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
} as const;
const TYPE_HASH = keccak256(
  stringToHex('Permit(address owner,address spender,uint256 value,uint256 nonce,uint256 deadline)'),
);
const LIFETIME_SECONDS = 3600n;

/**
 * The call with an approval by signature in it (EIP-2612), which costs no transaction.
 * @returns undefined if the token, the contract, the account or the wallet cannot
 */
export async function withPermit(
  run: Run,
  account: Account | Address,
  call: ContractCall,
  { token, spender, amount: value }: Spending,
): Promise<ContractCall | undefined> {
  const { reader, wallet } = run.chain;
  const owner = addressOf(account);
  const encode = permitted(call);
  const selector = encode?.([0n, 0, zeroHash, zeroHash]).slice(2, 10);
  if (!encode || !selector || !isAddressEqual(spender, call.to as Address)) return undefined;
  const domain = await run.within(permitDomain(run, owner, token, selector, spender));
  if (!domain) return undefined;
  const args = [owner] as const;
  const nonce = await run.within(
    readContract(reader, { address: token, abi: TOKEN, functionName: 'nonces', args }),
  );
  const deadline = (await run.within(timeOf(reader))) + LIFETIME_SECONDS;
  const message = { owner, spender, value, nonce, deadline };
  const typed = { domain, types: TYPES, primaryType: 'Permit', message } as const;
  try {
    const signature = await run.ask(
      { state: 'wallet', step: 'permit' },
      () => wallet!.signTypedData({ account, ...typed }),
      () => ({ state: 'checking' }),
    );
    // Some accounts sign in a form that only their contract understands.
    if (!isAddressEqual(await recoverTypedDataAddress({ ...typed, signature }), owner)) return undefined;
    const { r, s, yParity } = parseSignature(signature);
    const with2612 = { ...call, data: encode([deadline, 27 + yParity, r, s]) };
    await run.simulate(with2612, account);
    return with2612;
  } catch (error) {
    if (run.options.signal?.aborted) throw error;
    if (lacksMethod(error) || !isOfWallet(error)) return undefined;
    throw error;
  }
}

/** Errors of EIP-1193 have numbers as codes: those of the person's answer, too. */
const isOfWallet = (error: unknown): boolean =>
  [...wrapped(error)].some(({ code }) => typeof code === 'number');

type Signed = readonly [deadline: bigint, v: number, r: Hex, s: Hex];

/** How the call is written with a permit, if it can be: contracts of others have functions of their own. */
function permitted({ name, data }: ContractCall): ((signed: Signed) => Hex) | undefined {
  if (name !== 'deposit' && name !== 'buyTickets') return undefined;
  try {
    const { functionName, args } = decodeFunctionData({ abi: PAYING, data: data as Hex });
    return (signed) =>
      encodeFunctionData({
        abi: PERMITTED,
        functionName: `${functionName}WithPermit`,
        args: [...args, ...signed],
      });
  } catch {
    return undefined;
  }
}

/**
 * The domain of the token's permits. Nothing is signed for one that does not hash to what the token says: a signature
 * that the token refuses would be asked for in vain.
 */
async function permitDomain(
  { chain: { reader, chainId } }: Run,
  owner: Address,
  token: Address,
  selector: string,
  spender: Address,
): Promise<TypedDataDomain | undefined> {
  const read = (functionName: 'DOMAIN_SEPARATOR' | 'PERMIT_TYPEHASH' | 'name' | 'version') =>
    readContract(reader, { address: token, abi: TOKEN, functionName }).catch(() => undefined);
  const [code, ownCode, separator, typeHash, described] = await Promise.all([
    getCode(reader, { address: spender }),
    getCode(reader, { address: owner }),
    read('DOMAIN_SEPARATOR'),
    read('PERMIT_TYPEHASH'),
    getEip712Domain(reader, { address: token }).catch(() => undefined),
  ]);
  // Contracts cannot sign; tokens ask the code of accounts that delegate to one (EIP-7702).
  if (!code?.includes(selector) || (ownCode && ownCode !== '0x') || !separator) return undefined;
  if (typeHash && typeHash !== TYPE_HASH) return undefined;
  let candidates: TypedDataDomain[];
  if (described)
    // EIP-5267: the bits of `fields` say which of the others count, in their order.
    candidates = [
      Object.fromEntries(
        Object.entries(described.domain).filter((_, bit) => Number(described.fields) & (1 << bit)),
      ),
    ];
  else {
    const [name, version] = await Promise.all([read('name'), read('version')]);
    candidates = [version, '1', '2'].map((each) => ({
      ...{ name, version: each, chainId, verifyingContract: token },
    }));
  }
  return candidates.find((domain) => domainSeparator({ domain }) === separator);
}

/** Of chain or clock, whichever is ahead. */
async function timeOf(reader: Client): Promise<bigint> {
  const { timestamp } = await getBlock(reader);
  const now = BigInt(Math.floor(Date.now() / 1000));
  return timestamp > now ? timestamp : now;
}
