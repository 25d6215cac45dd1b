import { type Address, type Client, type Hex, erc20Abi, parseAbi } from 'viem';
import { estimateGas, getBalance, getGasPrice, readContract } from 'viem/actions';
import {
  ApiError,
  DepositBelowMinimumError,
  InsufficientEtherError,
  InsufficientTokensError,
} from '../errors.js';
import type { ClientConfig, ContractCall, PoolType } from '../types.js';
import type { Payer } from '../wallet.js';
import { NATIVE_COIN, type Spending } from './allowance.js';
import { addressOf, changeChain, chainAccess, payingAccount } from './chain-access.js';

const POOL = parseAbi(['function minimumDeposit() view returns (uint256)']);
/** What an approval and a deposit take together, rounded up: about 46,000 and 180,000. */
export const PAYMENT_GAS = 250_000n;
/** No transaction takes less. */
const LEAST_GAS = 21_000n;

/** What the call takes, and a tenth more. A node that refuses to tell leaves it to the trial of the call. */
export const gasOf = (reader: Client, account: Address, { to, data, value }: ContractCall): Promise<bigint> =>
  estimateGas(reader, { account, to: to as Address, data: data as Hex, value: BigInt(value) }).then(
    (gas) => (gas * 11n) / 10n,
    () => LEAST_GAS,
  );

/**
 * What would make a payment fail, before anyone is asked for anything.
 * @throws InsufficientTokensError, InsufficientEtherError
 */
export async function checkFunds(
  reader: Client,
  account: Address,
  spending?: Pick<Spending, 'token' | 'amount'>,
  gas = PAYMENT_GAS,
): Promise<void> {
  const isCoin = spending?.token === NATIVE_COIN;
  const [tokens, ether, price] = await Promise.all([
    spending &&
      !isCoin &&
      readContract(reader, {
        address: spending.token,
        abi: erc20Abi,
        functionName: 'balanceOf',
        args: [account],
      }),
    getBalance(reader, { address: account }),
    getGasPrice(reader),
  ]);
  if (spending && typeof tokens === 'bigint' && tokens < spending.amount)
    throw new InsufficientTokensError(tokens, spending.amount);
  const needed = price * gas + (isCoin ? spending.amount : 0n);
  if (ether < needed) throw new InsufficientEtherError(ether, needed);
}

export interface PaymentCheck {
  wallet: Payer;
  /** Smallest token units. */
  amount: string | bigint;
  /** The type of a pool that is to be created. */
  type?: PoolType;
  /** The contract of a pool that exists: its `contractAddress`. */
  contract?: string;
}

/** @throws SavingsError that says what would make the payment fail */
export async function checkPayment(
  config: ClientConfig,
  signedIn: Address | undefined,
  { wallet, amount, type, contract = (type && config.contracts[type]) ?? undefined }: PaymentCheck,
): Promise<void> {
  const { chainId, token } = config;
  if (chainId === null || token === null)
    throw new ApiError('chain_unknown', 503, 'The chain is not known yet', [], undefined, undefined);
  const place = contract?.toLowerCase() ?? '';
  const spent = config.contractTokens[place] ?? token;
  const { reader, wallet: client } = chainAccess(wallet, chainId, config);
  await changeChain(client!, chainId, config);
  const account = addressOf(await payingAccount(client!, signedIn));
  const units = BigInt(amount);
  const least = type ? BigInt(config.minimumDeposits[place] ?? config.minimumDeposit) : 0n;
  if (units < least) throw new DepositBelowMinimumError(least, units);
  if (contract !== undefined) {
    const of = { address: contract as Address, abi: POOL, functionName: 'minimumDeposit' } as const;
    // Not every contract has one.
    const minimum = await readContract(reader, of).catch(() => 0n);
    if (units < minimum) throw new DepositBelowMinimumError(minimum, units);
  }
  await checkFunds(reader, account, { token: spent.address as Address, amount: units });
}
