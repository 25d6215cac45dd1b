import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { IsInstance, ValidateBy, type ValidationOptions } from 'class-validator';
import { canonicalAmount } from '#values/rules';

const amount =
  (name: string, isFine: (canonical: string | undefined) => boolean, range: string) =>
  (options?: ValidationOptions): PropertyDecorator => {
    const defaultMessage = (): string => `must be a string of decimal digits, ${range}`;
    const validate = (value: unknown): boolean => isFine(canonicalAmount(value));
    return ValidateBy({ name, validator: { validate, defaultMessage } }, options);
  };
/** A string of decimal digits up to 2^256-1. */
export const IsAmount = amount('isAmount', (value) => value !== undefined, 'at most 2^256-1');
/** Like IsAmount, but not zero. */
export const IsPositiveAmount = amount(
  'isPositiveAmount',
  (value) => !['0', undefined].includes(value),
  'from 1 to 2^256-1',
);

/** Amounts by contract: decimal strings in the smallest units of its token, by its address in lower case. */
export class ContractAmounts extends Map<string, string> {}

/** A setting of the form `0x…=units`, separated by commas, with each contract once. */
export const AmountsByContract = (): PropertyDecorator =>
  applyDecorators(
    Transform(({ value }: { value: unknown }) => (typeof value === 'string' ? parseAmounts(value) : value)),
    IsInstance(ContractAmounts, {
      message: 'must name contracts, each once, with whole numbers of smallest token units: 0x…=10000000',
    }),
  );

function parseAmounts(text: string): ContractAmounts | null {
  const amounts = new ContractAmounts();
  for (const pair of text.split(',')) {
    const [, address, amount] = /^(0x[0-9a-f]{40})=(\d{1,77})$/.exec(pair.trim().toLowerCase()) ?? [];
    if (address === undefined || amounts.has(address)) return null;
    amounts.set(address, BigInt(amount).toString());
  }
  return amounts;
}
