import { ValidateBy, type ValidationOptions } from 'class-validator';
import { canonicalAmount } from '#values/rules';

/** A string of decimal digits up to 2^256-1. */
export const IsAmount = (options?: ValidationOptions): PropertyDecorator =>
  ValidateBy(
    {
      name: 'isAmount',
      validator: {
        validate: (value) => canonicalAmount(value) !== undefined,
        defaultMessage: () => 'must be a string of decimal digits, at most 2^256-1',
      },
    },
    options,
  );

/** Like IsAmount, but not zero. */
export const IsPositiveAmount = (options?: ValidationOptions): PropertyDecorator =>
  ValidateBy(
    {
      name: 'isPositiveAmount',
      validator: {
        validate: (value) => !['0', undefined].includes(canonicalAmount(value)),
        defaultMessage: () => 'must be a string of decimal digits, from 1 to 2^256-1',
      },
    },
    options,
  );
