import {
  ArgumentMetadata,
  type INestApplication,
  Injectable,
  type Type,
  ValidationPipe,
} from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { plainToInstance } from 'class-transformer';
import { type ValidatorOptions, useContainer, validate } from 'class-validator';
import { validationFailed } from '#platform/errors/errors';
import { describeViolations } from '#platform/errors/violations';
import { rulesOf } from '#platform/foreign/class-validator-internals';

/** Levels of nested lists and objects in a field. No request needs more, and the transformation is recursive. */
const MAX_DEPTH = 16;
/**
 * Values of a body or a query, at all levels together: more than the addresses that fit into a body of 64 KB. The
 * transformation takes some 7 µs for each, and blocks the process meanwhile.
 */
export const MAX_VALUES = 1500;
const TRANSFORM_OPTIONS = { exposeUnsetFields: false };
/** The value tells whether a path in brackets belongs to a list. */
const RULES: ValidatorOptions = {
  forbidUnknownValues: false,
  validationError: { target: false, value: true },
};
const WITHOUT_UNKNOWN: ValidatorOptions = { ...RULES, whitelist: true };

/**
 * Validates and transforms DTOs as NestJS's ValidationPipe does. Every violation becomes a detail with the path of
 * its field, and fields without a rule are removed. Classes without rules stay unchanged. null counts as absent in a
 * field with a default; elsewhere the rules decide.
 */
@Injectable()
export class DtoPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      transformOptions: TRANSFORM_OPTIONS,
      ...RULES,
      exceptionFactory: (errors) => validationFailed(...describeViolations(errors)),
    });
  }

  // Not async: most parameters are not DTOs and return at once.
  override transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    if (!this.toValidate(metadata)) return this.transformPrimitive(value, metadata) as Promise<unknown>;
    if (isFlat(value)) return this.transformFlat(value, metadata);
    const field = metadata.data ?? metadata.type;
    const problem = excessOf(value);
    if (problem !== undefined) throw validationFailed({ field, message: problem });
    // An absent part, such as that of `@Body('part')`, is left to the rules.
    if (!isRecord(value) && hasRules(metadata.metatype) && !(metadata.data !== undefined && value == null))
      throw validationFailed({ field, message: 'must be a JSON object' });
    return super.transform(value, metadata) as Promise<unknown>;
  }

  /**
   * What NestJS's pipe does with a value that needs none of its care for nested and binary values. It saves 2 % of the
   * CPU of a small read. A query of `GET /transactions` takes 6 µs. Rules compiled into functions took 2 µs, which is not
   * worth a second implementation of class-validator.
   */
  private async transformFlat(value: object, metadata: ArgumentMetadata): Promise<unknown> {
    const made = plainToInstance(metadata.metatype as Type<object>, value, TRANSFORM_OPTIONS);
    // A field has this name.
    if (made.constructor !== metadata.metatype) return super.transform(value, metadata) as Promise<unknown>;
    const errors = await this.validate(made);
    if (errors.length > 0) throw this.exceptionFactory(errors) as Error;
    return made;
  }

  /** @param dto an instance of the DTO's class, not validated yet */
  protected override validate(dto: object): ReturnType<ValidationPipe['validate']> {
    restoreDefaults(dto);
    return validate(dto, hasRules(dto.constructor) ? WITHOUT_UNKNOWN : RULES);
  }
}

const hasRules = (dto: unknown): boolean => typeof dto === 'function' && rulesOf(dto as Type).length > 0;

/** Replaces null with the default of its field, in nested DTOs too. */
function restoreDefaults(value: unknown): void {
  if (!holdsValues(value)) return;
  if (Array.isArray(value) || value instanceof Set || value instanceof Map)
    return value.forEach((item: unknown) => restoreDefaults(item));
  const fields = value as Record<string, unknown>;
  const nulls = Object.keys(fields).filter((name) => fields[name] === null);
  if (nulls.length > 0 && hasRules(value.constructor)) {
    const defaults = new (value.constructor as new () => Record<string, unknown>)();
    for (const name of nulls) if (defaults[name] !== undefined) fields[name] = defaults[name];
  }
  Object.values(fields).forEach(restoreDefaults);
}

/** Whether it is an object of scalars and lists of scalars, and not of too many. */
function isFlat(value: unknown): value is object {
  if (!isRecord(value)) return false;
  let count = 0;
  for (const name of Object.keys(value)) {
    const field = value[name];
    const items = Array.isArray(field) ? field : [field];
    if (name === '__proto__' || (count += items.length) > MAX_VALUES) return false;
    for (const item of items) if (typeof item === 'object') return false;
  }
  return true;
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** False for a buffer, such as an uploaded file: its bytes are not looked at one by one. */
const holdsValues = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Buffer.isBuffer(value);

/** What is too much in a value, if anything. */
function excessOf(value: unknown, levels = MAX_DEPTH, left = { values: MAX_VALUES }): string | undefined {
  if (!holdsValues(value)) return undefined;
  if (levels < 0) return 'is nested too deeply';
  for (const item of Object.values(value)) {
    if (--left.values < 0) return `must hold at most ${MAX_VALUES} values`;
    const problem = excessOf(item, levels - 1, left);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/**
 * Lets class-validator constraints be providers with injected dependencies, of the application that was made last.
 * class-validator creates all others itself. Results are remembered, because class-validator asks at each request, and a
 * missing provider costs an exception.
 */
export function provideConstraints(app: INestApplication): void {
  const providers = app.get(ModuleRef);
  const found = new Map<unknown, unknown>();
  const find = (type: unknown): unknown => {
    try {
      return providers.get(type as never, { strict: false });
    } catch {
      return undefined;
    }
  };
  const get = (type: unknown): unknown => {
    if (!found.has(type)) found.set(type, find(type));
    return found.get(type);
  };
  useContainer({ get: get as never }, { fallback: true });
}
